package talk_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/internal/talk"
)

func TestSave(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/pics/cat.png":
			_, _ = w.Write([]byte("meow"))
		case "/huge":
			chunk := make([]byte, 1<<20)
			for range 33 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("taken", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name     string
		resource talk.Resource
		file     string
		saved    string
		content  string
		code     fault.Code
	}{
		{"data", talk.Resource{Number: 1, URI: "data:text/plain,hello%20you"}, "a.txt", "a.txt", "hello you", ""},
		{"data in base64", talk.Resource{Number: 2, URI: "data:text/plain;base64,aGVsbG8="}, "b.txt", "b.txt", "hello", ""},
		{"named by its kind", talk.Resource{Number: 3, URI: "data:application/json,{}"}, "", "resource-3.json", "{}", ""},
		{"from a server", talk.Resource{Number: 4, URI: server.URL + "/pics/cat.png?x=1"}, "", "cat.png", "meow", ""},
		{"named by the peer", talk.Resource{Number: 5, URI: "data:,x", Name: "../../etc/cron.d/job"}, "", "job", "x", ""},
		{"never hidden", talk.Resource{Number: 6, URI: "data:,x", Name: ".profile"}, "", "profile", "x", ""},
		{"nor an option", talk.Resource{Number: 6, URI: "data:,x", Name: "-rf"}, "", "rf", "x", ""},
		{"never over a file", talk.Resource{Number: 7, URI: "data:,x"}, "taken", "", "", fault.Conflict},
		{"not there", talk.Resource{Number: 8, URI: server.URL + "/nothing"}, "c", "", "", fault.Unavailable},
		{"too large", talk.Resource{Number: 9, URI: server.URL + "/huge"}, "d", "", "", fault.TooLarge},
		{"a file of this machine", talk.Resource{Number: 10, URI: "file:///etc/passwd"}, "e", "", "", fault.Unsupported},
		{"no data", talk.Resource{Number: 11, URI: "data:text/plain"}, "f", "", "", fault.Malformed},
		{"no base64", talk.Resource{Number: 12, URI: "data:;base64,!!"}, "g", "", "", fault.Malformed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			name, size, err := talk.Save(t.Context(), tc.resource, tc.file)
			if name != tc.saved || fault.CodeOf(err) != tc.code || size != int64(len(tc.content)) {
				t.Errorf("Save = %q, %d, %v", name, size, err)
			}
			if tc.saved != "" {
				if got, err := os.ReadFile(tc.saved); err != nil || string(got) != tc.content {
					t.Errorf("the file has %q (%v), want %q", got, err, tc.content)
				}
			} else if tc.file != "taken" {
				if _, err := os.Stat(tc.file); err == nil {
					t.Errorf("%s was left behind", tc.file)
				}
			}
		})
	}
	if got, err := os.ReadFile("taken"); err != nil || string(got) != "mine" {
		t.Errorf("the file that was there has %q (%v)", got, err)
	}
	if files, _ := os.ReadDir("."); len(files) != 8 {
		t.Errorf("files: %s", strings.Join(names(files), " "))
	}
}

func names(files []os.DirEntry) (all []string) {
	for _, f := range files {
		all = append(all, f.Name())
	}
	return all
}
