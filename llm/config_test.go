package llm_test

import (
	"bytes"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/llm"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestFromEnv(t *testing.T) {
	for _, tc := range []struct {
		name string
		env  []string
		want string // what the model says it is, or the error
	}{
		{"nothing is set", nil, "the built-in offline model"},
		{"a key alone is OpenAI's", []string{"OPENAI_API_KEY", "k"}, "gpt-4o-mini at https://api.openai.com/v1"},
		{"a server near by needs no key", []string{"OPENAI_BASE_URL", "http://127.0.0.1:8080/v1", "MODEL_ENGINE", "tiny"}, "tiny at http://127.0.0.1:8080/v1"},
		{"offline by name", []string{"OPENAI_API_KEY", "k", "MODEL_ENGINE", "offline"}, "the built-in offline model"},
		{"a limit", []string{"MAX_TOKENS", "3"}, "the built-in offline model"},
		{"no number", []string{"MAX_TOKENS", "many"}, `malformed: MAX_TOKENS: expected a whole number above zero, not "many"`},
		{"no limit at all", []string{"MAX_TOKENS", "0"}, `malformed: MAX_TOKENS: expected a whole number above zero, not "0"`},
		{"no time", []string{"OPENAI_TIMEOUT", "-1"}, `malformed: OPENAI_TIMEOUT: expected seconds above zero and below a day, not "-1"`},
		{"no URL", []string{"OPENAI_BASE_URL", "localhost:8080"}, "malformed: OPENAI_BASE_URL: expected a URL such as http://127.0.0.1:8080/v1"},
		{"a secret in the URL", []string{"OPENAI_BASE_URL", "http://user:word@host/v1"}, "unsupported: OPENAI_BASE_URL: secrets do not belong into the URL: set OPENAI_API_KEY"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config, err := llm.FromEnv(env(tc.env...))
			var got string
			if err == nil {
				var model *llm.Model
				if model, err = llm.New(config); err == nil {
					got = model.String()
				}
			}
			if err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestTheLimitsOfTheEnvironmentHold(t *testing.T) {
	config, err := llm.FromEnv(env("MAX_TOKENS", "3", "OPENAI_TIMEOUT", "1.5"))
	if err != nil || config.Timeout != 1500*time.Millisecond {
		t.Fatalf("FromEnv = %+v (%v)", config, err)
	}
	model := newModel(t, config)
	if got, err := model.Complete(t.Context(), "", "echo 1 2 3 4 5", nil); err != nil || got != "1 2 3 " {
		t.Errorf("Complete = %q (%v), want three tokens", got, err)
	}
}

func TestMistakesOfTheCaller(t *testing.T) {
	for name, tc := range map[string]struct {
		prompt string
		opts   *llm.Options
		want   fault.Code
	}{
		"no prompt":          {"", nil, fault.Malformed},
		"stream of a schema": {"x", &llm.Options{Schema: json.RawMessage(`{}`), Stream: func(string) error { return nil }}, fault.Unsupported},
		"no schema":          {"x", &llm.Options{Schema: json.RawMessage(`[]`)}, fault.Malformed},
	} {
		if _, err := offlineModel().Complete(t.Context(), "", tc.prompt, tc.opts); fault.CodeOf(err) != tc.want {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

type (
	outside struct{ Config *llm.Config }
	inside  struct{ config llm.Config } // fmt cannot call methods here
	bare    struct{ key llm.Secret }
)

// TestTheKeyIsNeverShown prints, logs and encodes what holds the key in every
// way known to us and searches what came out for it.
func TestTheKeyIsNeverShown(t *testing.T) {
	config := &llm.Config{APIKey: llm.NewSecret(apiKey), BaseURL: "http://127.0.0.1:1/v1", Retries: -1}
	model := newModel(t, config)
	_, err := model.Complete(t.Context(), "", "hi", nil)
	forms := map[string]string{
		"itself": apiKey, "hexadecimal": hex.EncodeToString([]byte(apiKey)), "base64": base64.StdEncoding.EncodeToString([]byte(apiKey)),
		"bytes": strings.Trim(fmt.Sprint([]byte(apiKey)), "[]"),
	}
	for name, holder := range map[string]any{
		"the secret": config.APIKey, "its config": config, "the config's value": *config, "the model": model, "the model's value": *model, "an error": err,
		"outside": outside{config}, "inside": inside{*config}, "inside, by pointer": &inside{*config}, "bare": bare{config.APIKey}, "a list": []any{config, *config, model},
	} {
		for way, out := range show(holder) {
			for form, secret := range forms {
				if strings.Contains(out, secret) {
					t.Errorf("%s shows the key of %s as %s:\n%s", way, name, form, out)
				}
			}
		}
	}
	if config.APIKey.Expose() != apiKey {
		t.Error("the key is lost")
	}
}

func TestASecretIsReadFromAConfiguration(t *testing.T) {
	var config struct{ Key llm.Secret }
	if err := json.Unmarshal([]byte(`{"Key": "abc"}`), &config); err != nil || config.Key.Expose() != "abc" {
		t.Errorf("read %q (%v)", config.Key.Expose(), err)
	}
	if out, err := json.Marshal(config); err != nil || string(out) != `{"Key":"[secret]"}` {
		t.Errorf("written %s (%v)", out, err)
	}
}

// show returns all that can be seen of a value, by the way of looking at it.
func show(v any) map[string]string {
	seen := map[string]string{}
	for verb := '!'; verb <= '~'; verb++ {
		for _, flags := range []string{"", "+", "#", " ", "# "} {
			seen["%"+flags+string(verb)] = fmt.Sprintf("%"+flags+string(verb), v)
		}
	}
	var out bytes.Buffer
	encode := func(way string, to func() error) {
		out.Reset()
		seen[way] = fmt.Sprint(to()) + out.String()
	}
	encode("json", func() error { return json.NewEncoder(&out).Encode(v) })
	encode("xml", func() error { return xml.NewEncoder(&out).Encode(v) })
	encode("gob", func() error { return gob.NewEncoder(&out).Encode(v) })
	encode("slog text", func() error { slog.New(slog.NewTextHandler(&out, nil)).Info("m", "v", v); return nil })
	encode("slog json", func() error { slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "v", v); return nil })
	encode("template", func() error { return template.Must(template.New("").Parse("{{.}}{{printf `%#v` .}}")).Execute(&out, v) })
	return seen
}
