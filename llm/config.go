package llm

import (
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/parley-agents/parley/fault"
)

// A Config says which model to ask, and how. The zero Config is the built-in
// offline model.
type Config struct {
	// APIKey is sent to the server; not needed by most local ones.
	APIKey Secret

	// BaseURL is that of an OpenAI-compatible server, such as
	// http://127.0.0.1:8080/v1. With an APIKey the default is OpenAI's.
	BaseURL string

	// Model is the name by which the server knows the model. "offline" is the
	// built-in one, whatever the other fields say.
	Model string

	MaxTokens int           // of an answer; default 1024
	Timeout   time.Duration // for an answer or, while streaming, for the next piece; default 60 s

	// Retries is how often a request is repeated that the server answers with 429
	// or 5xx; default 3, below zero never. Backoff is how long to wait before the
	// first, unless the server says so itself; default half a second, and twice
	// as long each time.
	Retries int
	Backoff time.Duration
}

const (
	offlineModel   = "offline"
	defaultBaseURL = "https://api.openai.com/v1"
	defaultModel   = "gpt-4o-mini"
	defaultRetries = 3
	defaultBackoff = 500 * time.Millisecond
)

// FromEnv reads OPENAI_API_KEY, OPENAI_BASE_URL, MODEL_ENGINE, MAX_TOKENS and
// OPENAI_TIMEOUT (in seconds), as the uAgents examples do. getenv is os.Getenv in
// most programs. With none of them set the model is the built-in offline one.
func FromEnv(getenv func(string) string) (*Config, error) {
	c := &Config{APIKey: NewSecret(strings.TrimSpace(getenv("OPENAI_API_KEY"))), BaseURL: getenv("OPENAI_BASE_URL"), Model: getenv("MODEL_ENGINE")}
	if text := getenv("MAX_TOKENS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fault.Errorf(fault.Malformed, "MAX_TOKENS", "expected a whole number above zero, not %q", text)
		}
		c.MaxTokens = n
	}
	if text := getenv("OPENAI_TIMEOUT"); text != "" {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds > 0 && seconds < 86400) {
			return nil, fault.Errorf(fault.Malformed, "OPENAI_TIMEOUT", "expected seconds above zero and below a day, not %q", text)
		}
		c.Timeout = time.Duration(seconds * float64(time.Second))
	}
	return c, nil
}

// Offline reports whether the config means the built-in offline model.
func (c *Config) Offline() bool {
	return c.Model == offlineModel || c.BaseURL == "" && c.APIKey.Empty()
}

// New makes the model that the config names.
func New(c *Config) (*Model, error) {
	var m *Model
	if c.Offline() {
		m = NewModel(NewOffline(time.Now))
	} else {
		b, err := newOpenAI(c)
		if err != nil {
			return nil, err
		}
		m = NewModel(b)
	}
	if c.MaxTokens > 0 {
		m.maxTokens = c.MaxTokens
	}
	if c.Timeout > 0 {
		m.timeout = c.Timeout
	}
	return m, nil
}

// withDefaults fills in what was left out and checks the rest.
func (c *Config) withDefaults() (Config, error) {
	full := *c
	if full.BaseURL == "" {
		full.BaseURL = defaultBaseURL
	}
	if full.Model == "" {
		full.Model = defaultModel
	}
	if full.Retries == 0 {
		full.Retries = defaultRetries
	}
	if full.Timeout <= 0 {
		full.Timeout = defaultTimeout
	}
	if full.Backoff <= 0 {
		full.Backoff = defaultBackoff
	}
	base, err := url.Parse(full.BaseURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return full, fault.Errorf(fault.Malformed, "OPENAI_BASE_URL", "expected a URL such as http://127.0.0.1:8080/v1")
	}
	if base.User != nil || base.RawQuery != "" {
		return full, fault.Errorf(fault.Unsupported, "OPENAI_BASE_URL", "secrets do not belong into the URL: set OPENAI_API_KEY")
	}
	return full, nil
}

// A Secret is a text that does not show itself: not when printed, logged or
// encoded, wherever it is held. The zero Secret is empty.
type Secret struct {
	// A function, because printers show the bytes of everything else that they
	// reach by reflection.
	expose func() string
}

const hidden = "[secret]"

// NewSecret hides a text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{func() string { return text }}
}

// Expose returns the text. It is for those who send it to its server.
func (s Secret) Expose() string {
	if s.expose == nil {
		return ""
	}
	return s.expose()
}

// Empty reports whether there is no text.
func (s Secret) Empty() bool { return s.Expose() == "" }

// String tells only whether there is a secret.
func (s Secret) String() string {
	if s.Empty() {
		return ""
	}
	return hidden
}

// Format is String for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// LogValue is String for package slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is String for encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a secret from a configuration.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}
