package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/hinshun/vt10x"
)

// TestDrawScreen draws a screen with colours and other attributes, and reads the
// text from the picture.
func TestDrawScreen(t *testing.T) {
	screen := vt10x.New(vt10x.WithSize(20, 6))
	if _, err := screen.Write([]byte("welcome\r\n\x1b[1m$ \x1b[0mcat <a&b>\r\n\x1b[38;2;1;200;3mgreen\x1b[0m \x1b[7mturned\x1b[0m\r\n\x1b[38;5;196mred\x1b[0m")); err != nil {
		t.Fatal(err)
	}
	svg := string(drawScreen(screen, "cat"))
	var texts []string
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if c, ok := token.(xml.CharData); ok && strings.TrimSpace(string(c)) != "" {
			texts = append(texts, strings.TrimSpace(string(c)))
		}
	}
	if got := strings.Join(texts, "|"); got != "$|cat <a&b>|green|turned|red" {
		t.Errorf("the text of the picture is %q", got)
	}
	for _, want := range []string{
		`y="30" textLength="16.8" font-weight="bold">$ <`, // the first row that is drawn
		`fill="#01c803">green<`, `fill="#ff0000">red<`,
		`fill="` + picturePaper + `">turned<`, `height="18" fill="` + pictureInk + `"/>`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture has no %s:\n%s", want, svg)
		}
	}
}
