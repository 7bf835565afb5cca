package reviewweb

import (
	"context"
	"net/http"
)

type row struct{}
type hitCounts struct{}

func (s *Server) newestRows(context.Context) ([]row, error)                       { return nil, nil }
func (s *Server) overviewPage(w http.ResponseWriter, r *http.Request)             { s.questionsPage(w, r) }
func (s *Server) decisionsPage(w http.ResponseWriter, r *http.Request)            {}
func (s *Server) decisionPage(w http.ResponseWriter, r *http.Request, id string)  {}
func (s *Server) choicesPage(w http.ResponseWriter, r *http.Request)              {}
func (s *Server) choicePage(w http.ResponseWriter, r *http.Request, id string)    {}
func (s *Server) changeChoices(w http.ResponseWriter, r *http.Request, id string) {}
func (s *Server) changesPage(w http.ResponseWriter, r *http.Request)              {}
func (s *Server) undo(w http.ResponseWriter, r *http.Request, id string)          {}
func (s *Server) rulesPage(w http.ResponseWriter, r *http.Request)                {}
