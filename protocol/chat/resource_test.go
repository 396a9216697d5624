package chat_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/protocol/chat"
)

// A picture goes with a message, and a small one for clients that are slow.
func ExampleAttach() {
	picture, err := chat.Link("https://example.com/cat.png", "image/png", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	small, err := chat.Embed([]byte("\x89PNG"), "image/png", "thumbnail")
	if err != nil {
		fmt.Println(err)
		return
	}
	m := chat.Text("Look:")
	m.Content = append(m.Content, chat.Attach(picture, small))

	for _, content := range m.Content {
		attached, ok := content.(chat.ResourceContent)
		if !ok {
			continue
		}
		for _, r := range attached.Resources() {
			content, embedded, err := r.Content()
			fmt.Printf("%s %q %v %q %v\n", r.MIMEType(), r.Role(), embedded, content, err)
		}
	}
	// Output:
	// image/png "" false "" <nil>
	// image/png "thumbnail" true "\x89PNG" <nil>
}

func ExampleEmbed() {
	r, err := chat.Embed([]byte("hello"), "text/plain; charset=utf-8", "note")
	fmt.Println(r.URI, r.Metadata, err)
	// Output: data:text/plain;charset=utf-8;base64,aGVsbG8= map[mime_type:text/plain; charset=utf-8 role:note] <nil>
}

// What was attached comes out of the wire form as it went in.
func TestAttachedResourcesTravel(t *testing.T) {
	codec := codecOf[chat.ChatMessage](t)
	link, err := chat.Link("agent-storage://host/id", "application/pdf", "invoice")
	if err != nil {
		t.Fatal(err)
	}
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	embedded, err := chat.Embed(all, "application/octet-stream", "")
	if err != nil {
		t.Fatal(err)
	}
	sent := chat.Text("both")
	sent.Content = append(sent.Content, chat.Attach(link), chat.Attach(link, embedded))

	text, err := codec.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	var received chat.ChatMessage
	if err := codec.Unmarshal(text, &received); err != nil {
		t.Fatal(err)
	}

	one, two := received.Content[1].(chat.ResourceContent), received.Content[2].(chat.ResourceContent)
	if _, alone := one.Resource.(chat.Resource); !alone {
		t.Errorf("one resource came as %T", one.Resource)
	}
	if got := one.Resources(); len(got) != 1 || got[0].URI != link.URI || got[0].Role() != "invoice" || got[0].MIMEType() != "application/pdf" {
		t.Errorf("one resource came as %+v", got)
	}
	if got := two.Resources(); len(got) != 2 {
		t.Errorf("two resources came as %+v", got)
	} else if content, ok, err := got[1].Content(); !ok || err != nil || !bytes.Equal(content, all) {
		t.Errorf("the content came as %x, %v, %v", content, ok, err)
	}
	if one.ResourceID == two.ResourceID || one.ResourceID.Version() != 4 {
		t.Errorf("ids %s and %s", one.ResourceID, two.ResourceID)
	}
	if none := (chat.ResourceContent{}).Resources(); none != nil {
		t.Errorf("no resources came as %v", none)
	}
}

// Others write data: URIs in more ways.
func TestDataURIs(t *testing.T) {
	for _, tc := range []struct{ uri, mimeType, content string }{
		{"data:,A%20brief%20note", "text/plain", "A brief note"},
		{"data:;charset=utf-8,%C3%A9", "text/plain;charset=utf-8", "é"},
		{"data:;base64,aGk=", "text/plain", "hi"},
		{"DATA:image/png;base64,aGk", "image/png", "hi"},
		{"data:image/png;base64,aGk%3D", "image/png", "hi"},
		{"data:text/html,<b>+</b>", "text/html", "<b>+</b>"},
	} {
		r := chat.Resource{URI: tc.uri}
		content, ok, err := r.Content()
		if string(content) != tc.content || !ok || err != nil || r.MIMEType() != tc.mimeType {
			t.Errorf("%s is %s %q, %v, %v; want %s %q", tc.uri, r.MIMEType(), content, ok, err, tc.mimeType, tc.content)
		}
	}
	for _, uri := range []string{"", "data", "data:", "data:image/png", "https://example.com/data:,x"} {
		r := chat.Resource{URI: uri}
		if content, ok, err := r.Content(); ok || err != nil || content != nil || r.MIMEType() != "" {
			t.Errorf("%q is %s %q, %v, %v; want no content", uri, r.MIMEType(), content, ok, err)
		}
	}
}

func TestResourcesThatAreRefused(t *testing.T) {
	link := func(uri, mimeType string) error { _, err := chat.Link(uri, mimeType, ""); return err }
	read := func(uri string) error { _, _, err := chat.Resource{URI: uri}.Content(); return err }
	_, tooLarge := chat.Embed(make([]byte, chat.MaxEmbedded+1), "image/png", "")
	_, noType := chat.Embed(nil, "", "")
	_, largest := chat.Embed(make([]byte, chat.MaxEmbedded), "image/png", "")
	for name, tc := range map[string]struct {
		err  error
		want fault.Code
		at   string
	}{
		"a link without scheme":        {link("cat.png", "image/png"), fault.Malformed, "uri"},
		"a link with blanks":           {link("https://a b", "image/png"), fault.Malformed, "uri"},
		"a long link":                  {link("https://"+strings.Repeat("a", chat.MaxLink), "image/png"), fault.TooLarge, "uri"},
		"a link without type":          {link("https://a", ""), fault.Malformed, "mime_type"},
		"a type that is none":          {link("https://a", "picture"), fault.Malformed, "mime_type"},
		"content without type":         {noType, fault.Malformed, "mime_type"},
		"content that is too large":    {tooLarge, fault.TooLarge, "uri"},
		"the largest content":          {largest, "", ""},
		"a bad escape":                 {read("data:,%zz"), fault.Malformed, "uri"},
		"no base64":                    {read("data:;base64,!"), fault.Malformed, "uri"},
		"large content to read":        {read("data:," + strings.Repeat("a", chat.MaxEmbedded+1)), fault.TooLarge, "uri"},
		"very large content to read":   {read("data:," + strings.Repeat("a", 4*chat.MaxEmbedded)), fault.TooLarge, "uri"},
		"the largest content, escaped": {read("data:," + strings.Repeat("%41", chat.MaxEmbedded)), "", ""},
	} {
		code := fault.CodeOf(tc.err)
		if code != tc.want || tc.err != nil && !strings.HasPrefix(tc.err.Error(), string(tc.want)+": "+tc.at+": ") {
			t.Errorf("%s: %v, want %s at %s", name, tc.err, tc.want, tc.at)
		}
	}
}

// FuzzResource checks that no URI crashes, and that content which was read can be
// embedded again as the same.
func FuzzResource(f *testing.F) {
	for _, uri := range []string{"data:,A%20brief%20note", "data:image/png;base64,aGk=", "https://example.com", "data:;charset=utf-8,%C3%A9"} {
		f.Add(uri, `text/plain; title="a,b"`)
	}
	f.Fuzz(func(t *testing.T, uri, mimeType string) {
		content, ok, err := chat.Resource{URI: uri}.Content()
		if !ok || err != nil {
			return
		}
		again, err := chat.Embed(content, mimeType, "")
		if err != nil && fault.CodeOf(err) != fault.Malformed { // the type may be none
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		if again.MIMEType() != mimeType {
			t.Fatalf("embedded as %q, read as %q", mimeType, again.MIMEType())
		}
		if second, ok, err := again.Content(); !ok || err != nil || !bytes.Equal(second, content) {
			t.Fatalf("%q carries %q, embedded again %q (%v, %v) in %s", uri, content, second, ok, err, again.URI)
		}
	})
}
