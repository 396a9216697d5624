package llm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"syscall"

	openai "github.com/sashabaranov/go-openai"

	"github.com/parley-agents/parley/fault"
)

// openAI asks a server that speaks the OpenAI API.
type openAI struct {
	client *openai.Client // does not know the key: courier sends it
	config Config
}

func newOpenAI(c *Config) (*openAI, error) {
	full, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	settings := openai.DefaultConfig("")
	settings.BaseURL = full.BaseURL
	settings.HTTPClient = newCourier(&full)
	return &openAI{client: openai.NewClientWithConfig(settings), config: full}, nil
}

func (b *openAI) String() string { return b.config.Model + " at " + b.config.BaseURL }

// Check asks for the list of models: it costs nothing, and needs the key.
func (b *openAI) Check(ctx context.Context) error {
	_, err := b.client.ListModels(ctx)
	return b.explain(err)
}

func (b *openAI) Generate(ctx context.Context, r *Request, stream func(string) error) (*Answer, error) {
	request := b.request(r)
	if stream != nil {
		return b.stream(ctx, request, stream)
	}
	return b.whole(ctx, request)
}

func (b *openAI) whole(ctx context.Context, request openai.ChatCompletionRequest) (*Answer, error) {
	response, err := b.client.CreateChatCompletion(ctx, request)
	if err != nil {
		return nil, b.explain(err)
	}
	if len(response.Choices) == 0 {
		return nil, b.malformed(errors.New("no choices"))
	}
	choice := response.Choices[0]
	if choice.Message.Refusal != "" {
		return nil, b.declined(choice.Message.Refusal)
	}
	return b.answer(choice.Message.Content, choice.FinishReason, &response.Usage)
}

func (b *openAI) request(r *Request) openai.ChatCompletionRequest {
	request := openai.ChatCompletionRequest{Model: b.config.Model}
	for _, m := range r.Messages {
		request.Messages = append(request.Messages, openai.ChatCompletionMessage{Role: string(m.Role), Content: m.Text})
	}
	if reasons(b.config.Model) {
		request.MaxCompletionTokens = r.MaxTokens
	} else {
		//lint:ignore SA1019 the older name is the one that all servers know
		request.MaxTokens = r.MaxTokens
	}
	if r.Temperature != nil && !reasons(b.config.Model) {
		// The library leaves out a zero.
		request.Temperature = max(float32(*r.Temperature), math.SmallestNonzeroFloat32)
	}
	if r.Schema != nil {
		request.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: r.Schema.Name(), Schema: r.Schema},
		}
	}
	return request
}

// reasons reports whether OpenAI's own rules for its reasoning models apply: no
// max_tokens and no temperature.
func reasons(model string) bool {
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(model, prefix) {
			return true
		}
	}
	return false
}

func (b *openAI) stream(ctx context.Context, request openai.ChatCompletionRequest, stream func(string) error) (*Answer, error) {
	plain := request
	request.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	pieces, err := b.client.CreateChatCompletionStream(ctx, request)
	if err != nil {
		return nil, b.explain(err)
	}
	defer pieces.Close()
	if strings.HasPrefix(pieces.Header().Get("Content-Type"), "application/json") { // the server knows no streams
		answer, err := b.whole(ctx, plain)
		if err == nil && answer.Text != "" {
			err = stream(answer.Text)
		}
		return answer, err
	}
	var text strings.Builder
	var finish openai.FinishReason
	usage := new(openai.Usage)
	for {
		part, err := pieces.Recv()
		if err != nil && finish != "" { // the answer is whole, however the connection ends
			return b.answer(text.String(), finish, usage)
		}
		if errors.Is(err, io.EOF) { // the library does not tell a cut stream from an ended one
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, b.explain(err)
		}
		if part.Usage != nil {
			usage = part.Usage
		}
		if len(part.Choices) == 0 {
			continue
		}
		choice := part.Choices[0]
		if choice.Delta.Refusal != "" {
			return nil, b.declined(choice.Delta.Refusal)
		}
		if choice.FinishReason != "" {
			finish = choice.FinishReason
		}
		if piece := choice.Delta.Content; piece != "" {
			text.WriteString(piece)
			if err := stream(piece); err != nil {
				return nil, err
			}
		}
	}
}

func (b *openAI) answer(text string, finish openai.FinishReason, usage *openai.Usage) (*Answer, error) {
	if finish == openai.FinishReasonContentFilter {
		return nil, b.declined("the content filter stopped the answer")
	}
	return &Answer{Text: text, Usage: Usage{
		Prompt: usage.PromptTokens, Completion: usage.CompletionTokens, Total: usage.TotalTokens,
		Cut: finish == openai.FinishReasonLength,
	}}, nil
}

func (b *openAI) declined(why string) error {
	return &fault.Error{Code: fault.Refused, Text: "the model declines: " + b.clean(why)}
}

func (b *openAI) malformed(err error) error {
	return &fault.Error{Code: fault.Malformed, Field: b.config.BaseURL, Text: "the model's server answers with what is no completion", Err: b.hide(err)}
}

// explain says what an error of the library means. The texts name neither the
// server nor the key, because peers see them; the field names the server.
func (b *openAI) explain(err error) error {
	if err == nil {
		return nil
	}
	if _, ours := errors.AsType[*fault.Error](err); ours {
		return err
	}
	status, said := 0, ""
	if e, ok := errors.AsType[*openai.APIError](err); ok {
		status, said = e.HTTPStatusCode, e.Message
		if isTooLong(e) {
			status = http.StatusRequestEntityTooLarge
		}
	} else if e, ok := errors.AsType[*openai.RequestError](err); ok {
		status, said = e.HTTPStatusCode, strings.TrimSpace(string(e.Body))
	}
	f := &fault.Error{Field: b.config.BaseURL, Err: b.hide(err)}
	switch {
	case status != 0:
		f.Code, f.Text = b.explainStatus(status, said)
	case said != "": // an error in the middle of a stream
		f.Code, f.Text = fault.Unavailable, "the model's answer broke off: "+b.clean(said)
	case errors.Is(err, syscall.ECONNREFUSED):
		f.Code, f.Text = fault.Unavailable, "the model's server does not run: nothing listens at its address"
	case isNetwork[*net.DNSError](err):
		f.Code, f.Text = fault.Unavailable, "the model's server cannot be found: its name does not resolve"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		f.Code, f.Text = fault.Unavailable, "the model did not answer in time"
	case isGarbage(err):
		return b.malformed(err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		f.Code, f.Text = fault.Unavailable, "the model's answer broke off"
	default:
		f.Code, f.Text = fault.Unavailable, "the model's server cannot be reached"
	}
	return f
}

func isNetwork[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// isGarbage reports whether the server sent something else than the API says.
func isGarbage(err error) bool {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[*json.UnmarshalTypeError](err)
	return syntax || kind || errors.Is(err, openai.ErrTooManyEmptyStreamMessages) || errors.Is(err, bufio.ErrTooLong) ||
		strings.Contains(err.Error(), "malformed HTTP")
}

// isTooLong reports whether a conversation does not fit the model, as OpenAI and
// llama.cpp say it.
func isTooLong(e *openai.APIError) bool {
	code, _ := e.Code.(string)
	return code == "context_length_exceeded" || e.Type == "exceed_context_size_error"
}

func (b *openAI) explainStatus(status int, said string) (fault.Code, string) {
	tail := ""
	if said != "" {
		tail = ": " + b.clean(said)
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fault.Forbidden, "the model's server does not accept the API key"
	case http.StatusNotFound:
		return fault.NotFound, fmt.Sprintf("the model's server does not know the model %q, or is no such server", b.config.Model)
	case http.StatusRequestEntityTooLarge:
		return fault.TooLarge, "the prompt is too long for the model"
	case http.StatusTooManyRequests:
		return fault.Unavailable, "the model's server is busy, try again later"
	}
	if status >= 500 {
		return fault.Unavailable, fmt.Sprintf("the model's server failed (status %d)", status)
	}
	return fault.Refused, fmt.Sprintf("the model's server refuses the request (status %d)%s", status, tail)
}

// clean makes what a server says fit to be shown: a server may repeat the key.
func (b *openAI) clean(said string) string {
	if !b.config.APIKey.Empty() {
		said = strings.ReplaceAll(said, b.config.APIKey.Expose(), hidden)
	}
	return shorten(said)
}

// hide keeps the cause of an error for errors.Is, and takes the key out of its
// words.
func (b *openAI) hide(err error) error {
	text := b.clean(err.Error())
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}
