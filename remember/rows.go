package remember

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/permd/permd/decisions"
	"github.com/permd/permd/decisions/effects"
	"github.com/permd/permd/decisions/pattern"
	"github.com/permd/permd/internal/sqlitedb"
	"github.com/permd/permd/internal/strictjson"
	"github.com/permd/permd/remember/erase"
	"github.com/permd/permd/remember/seals"
)

const (
	columns = `n, id, uid, verdict, kind, pattern, facts, digest, pins, scope, scope_key, scope_conn,
		decision, created, expires, uses, last_used, confirmed, parts, looked, bound`
	selectHolding = `SELECT ` + columns + ` FROM choices WHERE revoked IS NULL`
	insertChoice  = `INSERT INTO choices
		(id, uid, verdict, kind, pattern, facts, digest, pins, scope, scope_key, scope_conn,
		 decision, created, expires, confirmed, parts, looked, uses, last_used, bound, seal)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
)

// insert writes an entry and sets its row.
func (s *Store) insert(tx *sql.Tx, e *entry) error {
	c := &e.choice
	pins, err := json.Marshal(&c.Pins, jsontext.AllowInvalidUTF8(true)) // the name of a file may be any bytes
	if err != nil {
		return fmt.Errorf("encoding pins: %w", err)
	}
	var expires, last, confirmed, parts, looked, bound any
	if e.stored == factsParts {
		if parts, err = e.encodeParts(); err != nil {
			return err
		}
	}
	if e.bound != nil {
		if bound, err = json.Marshal(e.bound, jsontext.AllowInvalidUTF8(true)); err != nil {
			return fmt.Errorf("encoding what a choice is bound to: %w", err)
		}
	}
	if t := e.accepted.Load(); t != 0 {
		looked = t
	}
	if e.expire != 0 {
		expires = e.expire
	}
	if t := e.lastMatch.Load(); t != 0 {
		last = t
	}
	if t := e.confirmed.Load(); t != 0 {
		confirmed = t
	}
	values := []any{
		c.ID, int64(c.UID), string(c.Verdict), string(c.Kind), c.Label, e.stored, e.digest[:], pins, string(c.Scope.Kind),
		c.Scope.Key, int64(c.Scope.Conn), c.DecisionID, c.Created.UnixNano(), expires, confirmed, parts, looked,
	}
	seal := seals.Of(s.key[:], values...)
	res, err := tx.Exec(insertChoice, append(values, e.matchCount.Load(), last, bound, seal)...)
	if err != nil {
		return err
	}
	e.row, err = res.LastInsertId()
	return err
}

// encodeParts returns the parts as they are stored.
func (e *entry) encodeParts() ([]byte, error) {
	list := make([]Part, len(e.parts))
	for i, p := range e.parts {
		list[i] = p.Part
	}
	b, err := json.Marshal(list, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("encoding the parts of a reject: %w", err)
	}
	return b, nil
}

// scan reads one row of selectHolding. On an error it returns the recoverable
// part of a reject, nil for anything else.
func scan(rows *sql.Rows) (*entry, error) {
	e := &entry{}
	c := &e.choice
	var verdict, kind, scope string
	var uid, created, uses, conn int64
	var expires, last, confirmed, looked sql.NullInt64
	var sum, pins, parts, bound []byte
	if err := rows.Scan(&e.row, &c.ID, &uid, &verdict, &kind, &c.Label, &e.stored, &sum, &pins,
		&scope, &c.Scope.Key, &conn, &c.DecisionID, &created, &expires, &uses, &last, &confirmed, &parts, &looked, &bound); err != nil {
		return nil, err
	}
	c.Verdict, c.Kind, c.Scope.Kind = decisions.Verdict(verdict), effects.Kind(kind), ScopeKind(scope)
	if c.Verdict != decisions.Allow && c.Verdict != decisions.Deny || c.Scope.Kind.rank() == 0 || c.ID == "" {
		return nil, fmt.Errorf("%w: choice %d has no id, or an unknown verdict or scope", sqlitedb.ErrDamaged, e.row)
	}
	c.UID, c.Scope.Conn, c.Created = uint32(uid), uint64(conn), time.Unix(0, created).UTC()
	if expires.Valid {
		e.expire, c.Expires = expires.Int64, time.Unix(0, expires.Int64).UTC()
	}
	e.matchCount.Store(uses)
	e.lastMatch.Store(last.Int64)
	e.confirmed.Store(confirmed.Int64)
	e.accepted.Store(looked.Int64)
	e.flushed = uses
	if bound != nil {
		// Only for people: without it the choice matches what it matched.
		e.bound = new(binding)
		if strictjson.Unmarshal(bound, e.bound) != nil {
			e.bound = nil
		}
	}
	err := e.readBound(sum, pins, parts)
	if err != nil && c.Verdict == decisions.Allow {
		return nil, err
	}
	if err != nil {
		e.lose()
	}
	e.finish()
	return e, err
}

// lose makes a reject whose row cannot be read ask about everything: the rest of the row
// is not to be trusted either.
func (e *entry) lose() {
	e.choice.Pins, e.line, e.stored, e.changed = Pins{}, nil, factsLost, true
	e.parts = []*rejectPart{lostPart("")}
	e.finish()
}

// readBound reads what a choice is matched by.
func (e *entry) readBound(sum, pins, parts []byte) error {
	c := &e.choice
	if len(sum) != len(e.digest) {
		return fmt.Errorf("choice %d: its facts cannot be read", e.row)
	}
	copy(e.digest[:], sum)
	if err := strictjson.Unmarshal(pins, &c.Pins); err != nil {
		return fmt.Errorf("choice %d: its pins: %w", e.row, err)
	}
	var err error
	switch {
	case e.stored == factsLine:
		if e.line, err = pattern.Parse(c.Kind, c.Label); err != nil {
			return fmt.Errorf("choice %d: %w", e.row, err)
		}
		if c.Verdict == decisions.Deny {
			e.parts = []*rejectPart{{Part: Part{Kind: c.Kind, Rule: c.Label}, line: e.line}}
		}
	case e.stored == factsParts && c.Verdict == decisions.Deny:
		var list []Part
		if err := strictjson.Unmarshal(parts, &list); err != nil || len(list) == 0 || len(list) > maxRejectParts {
			return fmt.Errorf("choice %d: its parts cannot be read: %w", e.row, err)
		}
		for _, one := range list {
			p := &rejectPart{Part: one}
			if err := p.parse(); err != nil {
				return fmt.Errorf("choice %d: a part of it: %w", e.row, err)
			}
			e.parts = append(e.parts, p)
			e.changed = e.changed || p.matchesAll()
		}
	case c.Verdict == decisions.Deny:
		e.addLinePart()
	case e.stored != factsVersion:
		e.changed = true
	}
	return nil
}

// finish sets the fields derived from the choice.
func (e *entry) finish() {
	e.answer = decisions.Choice{ID: e.choice.ID, Label: e.choice.Label}
	for _, p := range e.parts {
		p.entry = e
		p.answer = decisions.Choice{ID: e.choice.ID, Label: p.Rule}
		p.ask = p.answer
		p.ask.Unsure = true
	}
	switch p := e.line; {
	case p == nil:
	case p.Path != nil:
		e.answer.Exact = p.Path.Literal()
		return
	case p.Host != nil:
		e.answer.Exact = !p.Host.Below
		return
	default:
		return
	}
	switch e.choice.Kind {
	case effects.KindRead, effects.KindWrite, effects.KindDelete:
		e.answer.Exact = !e.choice.Pins.Below
	case effects.KindConnect:
		e.answer.Exact = true
	case effects.KindRun, effects.KindUse, effects.KindState, effects.KindMode, effects.KindQuestion, effects.KindUnknown:
	}
}

// load reads the key and all choices in force into RAM.
func (s *Store) load(db *sqlitedb.DB) error {
	if err := s.loadKey(db.Write); err != nil {
		return err
	}
	if err := s.checkSeals(db.Write); err != nil {
		return err
	}
	now := s.now().UnixNano()
	newest, err := newestIn(db.Read)
	if err != nil {
		return fmt.Errorf("reading the times of choices: %w", err)
	}
	s.latest(newest)
	holding, unreadable, err := readActive(db.Read, now)
	if err != nil {
		return fmt.Errorf("reading choices: %w", err)
	}
	s.add(holding...)
	if unreadable != nil {
		s.turnOff(fmt.Errorf("%w: %w", ErrOff, unreadable))
	}
	if _, err := db.Write.Exec("UPDATE choices SET bound = NULL WHERE bound IS NOT NULL AND expires <= ?", max(now, newest)); err != nil {
		s.writeErr = err.Error() // the next start tries again
	}
	if err := erase.Rows(db.Write, s.key[:], now, "restart", "revoked IS NULL AND scope_conn <> 0"); err != nil {
		s.writeErr = err.Error() // they are not in RAM, which is what counts
	}
	return nil
}

// readActive reads the choices in force, and reports the rows that cannot be
// read.
func readActive(db *sql.DB, now int64) (entries []*entry, unreadable, err error) {
	rows, err := db.Query(selectHolding)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		e, err := scan(rows)
		if sqlitedb.IsDamaged(err) {
			return nil, nil, err // a reject must not be missing
		}
		unreadable = errors.Join(unreadable, err)
		switch {
		case e == nil:
		case e.choice.Scope.Conn != 0:
			// Its connection ended with the daemon; connection numbers restart.
		case !e.expiredAt(now):
			entries = append(entries, e)
		}
	}
	return entries, unreadable, rows.Err()
}

// loadKey reads the key of the digests, or generates it for a new database.
func (s *Store) loadKey(db *sql.DB) error {
	key, err := readKey(db)
	if err == nil {
		s.key = key
		return nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	var choices int
	if err := db.QueryRow("SELECT count(*) FROM choices").Scan(&choices); err != nil {
		return fmt.Errorf("counting choices: %w", err)
	}
	if choices > 0 {
		return fmt.Errorf("%w: the key of its digests is missing", sqlitedb.ErrDamaged)
	}
	if s.key == (hashKey{}) { // otherwise salvaged from a damaged database
		_, _ = rand.Read(s.key[:]) // never fails
	}
	if _, err := db.Exec("INSERT INTO meta (name, value) VALUES ('digest_key', ?)", s.key[:]); err != nil {
		return fmt.Errorf("storing the key of digests: %w", err)
	}
	return nil
}

func readKey(db *sql.DB) (hashKey, error) {
	var key hashKey
	var value []byte
	err := db.QueryRowContext(context.Background(), "SELECT value FROM meta WHERE name = 'digest_key'").Scan(&value)
	if err != nil {
		return key, fmt.Errorf("reading the key of digests: %w", err)
	}
	if len(value) != len(key) {
		return key, fmt.Errorf("%w: the key of its digests has %d bytes", sqlitedb.ErrDamaged, len(value))
	}
	copy(key[:], value)
	return key, nil
}

// salvageResult is what was read from a damaged database.
type salvageResult struct {
	key     hashKey
	rejects []*entry
}

// salvage reads the rejects of a damaged database, from both ends up to the
// damage. Without the key only rejects by line match.
func salvage(path string) salvageResult {
	var found salvageResult
	db, err := sqlitedb.OpenDamaged(path)
	if err != nil {
		return found
	}
	// Read-only: an error of closing is not informative.
	defer func() { _ = db.Close() }()
	if found.key, err = readKey(db); err != nil {
		found.key = hashKey{}
	}
	seen := map[string]bool{}
	for _, order := range []string{" ORDER BY n", " ORDER BY n DESC"} {
		for _, e := range readRejects(db, order) {
			if seen[e.choice.ID] {
				continue
			}
			seen[e.choice.ID] = true
			// Of an earlier permd, rows have no seals, which is an error; without the key
			// seals say nothing.
			if rows, err := seals.Changed(db, found.key[:], "n = ?", e.row); found.key != (hashKey{}) && err == nil && len(rows) > 0 {
				e.lose()
			}
			found.rejects = append(found.rejects, e)
		}
	}
	return found
}

// readRejects reads rejects until it reaches damage.
func readRejects(db *sql.DB, order string) (entries []*entry) {
	const rejects = " AND verdict = 'deny' AND scope_conn = 0"
	rows, err := db.Query(selectHolding + rejects + order)
	if err != nil {
		rows, err = db.Query(strings.Replace(selectHolding, ", bound", ", NULL", 1) + rejects + order) // schema version 2
	}
	if err != nil {
		// Schema version 1 had no parts.
		rows, err = db.Query(strings.Replace(selectHolding, ", parts, looked, bound", ", NULL, NULL, NULL", 1) + rejects + order)
	}
	if err != nil {
		return nil
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		// Keep the recoverable part of an unreadable one.
		if e, _ := scan(rows); e != nil && e.choice.Verdict == decisions.Deny {
			entries = append(entries, e)
		}
	}
	_ = rows.Err() // only means that damage was reached
	return entries
}
