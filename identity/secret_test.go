package identity_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"math/big"
	"strings"
	"testing"
	"text/template"

	"github.com/parley-agents/parley/identity"
)

// The ways in which a key gets into other values.
type (
	exported struct {
		Key     identity.Key
		Pointer *identity.Key
	}
	unexported struct { // fmt cannot call methods here
		key     identity.Key
		pointer *identity.Key
	}
	embedding  struct{ identity.Key }
	nested     struct{ inner *unexported }
	methodless identity.Key // a type of its own has no methods
	failure    struct{ key *identity.Key }
)

func (f failure) Error() string { return fmt.Sprintf("refused %v", f.key) }

// TestKeysNeverShowTheSecret prints, logs and encodes keys in every way known
// to us and searches what came out for the secret in every form known to us.
func TestKeysNeverShowTheSecret(t *testing.T) {
	key := seeded(t, "a phrase that nobody knows")
	forms := secretForms(t, key.Expose())
	holders := map[string]any{
		"pointer":    key,
		"value":      *key,
		"to pointer": &key,
		"exported":   exported{*key, key},
		"unexported": unexported{*key, key},
		"embedding":  embedding{*key},
		"nested":     &nested{&unexported{*key, key}},
		"methodless": methodless(*key),
		"slice":      []identity.Key{*key},
		"pointers":   []*identity.Key{key},
		"map":        map[string]identity.Key{"k": *key},
		"any":        []any{key, *key, unexported{*key, key}},
		"error":      failure{key},
		"wrapped":    fmt.Errorf("start: %w", errors.Join(failure{key}, fmt.Errorf("key %v of %+v", key, unexported{*key, key}))),
	}
	for name, holder := range holders {
		t.Run(name, func(t *testing.T) {
			for way, out := range show(holder) {
				for form, secret := range forms {
					if strings.Contains(out, secret) {
						t.Errorf("%s shows the secret in %s:\n%s", way, form, out)
					}
				}
			}
		})
	}
}

// show returns all that can be seen of a value, by the way of looking at it.
func show(v any) map[string]string {
	seen := map[string]string{}
	for verb := '!'; verb <= '~'; verb++ {
		for _, flags := range []string{"", "+", "#", " ", "0", "-", "# ", "20", ".5"} {
			seen["%"+flags+string(verb)] = fmt.Sprintf("%"+flags+string(verb), v)
			// An error in the format makes fmt print without methods.
			seen["Errorf %"+flags+string(verb)] = fmt.Errorf("%"+flags+string(verb), v).Error()
		}
	}
	seen["Print"] = fmt.Sprint(v)
	seen["no verb"] = fmt.Sprintf(strings.Repeat(" ", 2), v) // linters see through a constant
	var out bytes.Buffer
	encode := func(way string, to func() error) {
		out.Reset()
		seen[way] = fmt.Sprint(to()) + out.String()
	}
	encode("json", func() error { return json.NewEncoder(&out).Encode(v) })
	encode("xml", func() error { return xml.NewEncoder(&out).Encode(v) })
	encode("gob", func() error { return gob.NewEncoder(&out).Encode(v) })
	encode("log", func() error { log.New(&out, "", 0).Println(v); return nil })
	encode("slog text", func() error { slog.New(slog.NewTextHandler(&out, nil)).Info("m", "v", v); return nil })
	encode("slog json", func() error { slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "v", v); return nil })
	encode("slog group", func() error {
		slog.New(slog.NewJSONHandler(&out, nil)).With("a", v).WithGroup("g").Info("m", slog.Group("h", "v", v))
		return nil
	})
	encode("template", func() error { return template.Must(template.New("").Parse("{{.}}{{printf `%#v` .}}")).Execute(&out, v) })
	return seen
}

// secretForms writes the secret as a printer might. The library keeps it in
// eight words of 32 bits: any one of them would be too much.
func secretForms(t *testing.T, digits string) map[string]string {
	secret := unhex(t, digits)
	forms := map[string]string{
		"hex":             digits,
		"upper-case hex":  strings.ToUpper(digits),
		"hex with spaces": fmt.Sprintf("% x", secret),
		"hex with 0x":     fmt.Sprintf("%# x", secret),
		"HEX with 0X":     fmt.Sprintf("%# X", secret),
		"Go syntax":       strings.TrimPrefix(fmt.Sprintf("%#v", secret), "[]byte"),
		"decimal bytes":   strings.Trim(fmt.Sprint(secret), "[]"),
		"JSON bytes":      strings.ReplaceAll(strings.Trim(fmt.Sprint(secret), "[]"), " ", ","),
		"octal bytes":     strings.Trim(fmt.Sprintf("%o", secret), "[]"),
		"binary bytes":    strings.Trim(fmt.Sprintf("%b", secret), "[]"),
		"base64":          strings.TrimRight(base64.StdEncoding.EncodeToString(secret), "="),
		"base64 of URLs":  strings.TrimRight(base64.URLEncoding.EncodeToString(secret), "="),
		"raw bytes":       string(secret),
		"a quoted string": strings.Trim(fmt.Sprintf("%q", secret), `"`),
		"a number":        new(big.Int).SetBytes(secret).String(),
	}
	for i := range 8 {
		word := binary.BigEndian.Uint32(secret[4*i:])
		forms[fmt.Sprintf("word %d decimal", i)] = fmt.Sprint(word)
		forms[fmt.Sprintf("word %d hex", i)] = hex.EncodeToString(secret[4*i : 4*i+4])
		forms[fmt.Sprintf("word %d HEX", i)] = strings.ToUpper(hex.EncodeToString(secret[4*i : 4*i+4]))
		forms[fmt.Sprintf("word %d octal", i)] = fmt.Sprintf("%o", word)
		forms[fmt.Sprintf("word %d binary", i)] = fmt.Sprintf("%b", word)
	}
	return forms
}

func TestKeysShowTheirAddress(t *testing.T) {
	key := seeded(t, "alice")
	address := string(key.Address())
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("m", "key", key, "value", *key)
	marshalled, err := json.Marshal(exported{*key, key})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ got, want string }{
		"String":   {key.String(), address},
		"GoString": {key.GoString(), address},
		"%v":       {fmt.Sprintf("%v %v", key, *key), address + " " + address},
		"%+v":      {fmt.Sprintf("%+v", exported{*key, key}), "{Key:" + address + " Pointer:" + address + "}"},
		"%#v":      {fmt.Sprintf("%#v", key), address},
		"%s":       {fmt.Sprintf("%s", *key), address},
		"%d":       {fmt.Sprintf("%d", key), address},
		"%q":       {fmt.Sprintf("%q", *key), `"` + address + `"`},
		"json":     {string(marshalled), `{"Key":"` + address + `","Pointer":"` + address + `"}`},
	} {
		if tc.got != tc.want {
			t.Errorf("%s = %s, want %s", name, tc.got, tc.want)
		}
	}
	if want := `"key":"` + address + `","value":"` + address + `"`; !strings.Contains(logged.String(), want) {
		t.Errorf("logged %s, want %s in it", logged.String(), want)
	}
	if got := fmt.Sprint((*identity.Key)(nil), identity.Key{}); !strings.HasPrefix(got, "<nil>") {
		t.Errorf("no key prints as %q", got)
	}
}
