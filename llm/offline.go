package llm

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"time"
)

// offline is the built-in model: a small program that answers without a server,
// the same question always in the same way. It is for trying things out.
type offline struct{ now func() time.Time }

// NewOffline returns the built-in offline model. now tells it the time.
func NewOffline(now func() time.Time) Backend { return offline{now} }

func (offline) String() string              { return "the built-in offline model" }
func (offline) Check(context.Context) error { return nil }

func (o offline) Generate(ctx context.Context, r *Request, stream func(string) error) (*Answer, error) {
	text, asked, err := o.say(r.Messages), 0, ctx.Err()
	if r.Schema != nil {
		text, err = r.Schema.Example(o.now())
	}
	for _, m := range r.Messages {
		asked += len(strings.Fields(m.Text))
	}
	words, cut := strings.SplitAfter(text, " "), false
	if r.Schema == nil && r.MaxTokens > 0 && len(words) > r.MaxTokens {
		words, cut = words[:r.MaxTokens], true
	}
	for i := 0; stream != nil && err == nil && i < len(words); i++ {
		err = stream(words[i])
	}
	return &Answer{strings.Join(words, ""), Usage{asked, len(words), asked + len(words), cut}}, err
}

const (
	whatItIs   = "I am Parley's built-in offline model: a small program, not an AI. It needs no server and always gives the same answers."
	whatItDoes = `I can answer:
- help, who are you, what did I say, echo TEXT
- 12 * (3 + 4), and other sums
- what time is it, today, tomorrow, yesterday, what day is 2024-02-29
- prompts with a JSON schema

For a real model set OPENAI_API_KEY, or OPENAI_BASE_URL for one that runs near you.`
)

var (
	hearEcho  = regexp.MustCompile(`(?is)^(?:echo|say|repeat)\s+(.+)$`)
	hearHelp  = regexp.MustCompile(`(?i)^(help|\?)|what can you do`)
	hearWho   = regexp.MustCompile(`(?i)\b(who|what) are you\b|^(hi|hello|hey)\b`)
	hearSaid  = regexp.MustCompile(`(?i)what did i (just )?say`)
	hearDate  = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}\b`)
	hearClock = regexp.MustCompile(`(?i)\b(time|date|day|today|tomorrow|yesterday)\b`)
	hearSum   = regexp.MustCompile(`[-+(]*[\d.][-+*/().\d ]*[-+*/][-+*/().\d ]*[\d)]`)
)

func (o offline) say(messages []Message) string {
	prompt, before := strings.TrimSpace(messages[len(messages)-1].Text), messages[:len(messages)-1]
	sum, notSum := parser.ParseExpr(hearSum.FindString(prompt[:min(len(prompt), 200)]))
	day, notDay := time.Parse(time.DateOnly, hearDate.FindString(prompt))
	switch {
	case hearEcho.MatchString(prompt):
		return hearEcho.FindStringSubmatch(prompt)[1]
	case hearHelp.MatchString(prompt):
		return whatItDoes
	case hearWho.MatchString(prompt):
		return whatItIs + " Say help to see what I can do."
	case hearSaid.MatchString(prompt):
		for _, m := range slices.Backward(before) {
			if m.Role == User {
				return "You said: " + m.Text
			}
		}
		return "You have not said anything before."
	case notDay == nil:
		return day.Format("2006-01-02 is a Monday.")
	case hearDate.MatchString(prompt): // of no such day
	case hearClock.MatchString(prompt):
		word := strings.ToLower(hearClock.FindString(prompt))
		day := o.now().AddDate(0, 0, map[string]int{"tomorrow": 1, "yesterday": -1}[word])
		layout := map[string]string{"time": "Monday, 2006-01-02, 15:04:05 MST"}[word]
		return strings.ToUpper(word[:1]) + word[1:] + ": " + day.Format(cmp.Or(layout, "Monday, 2006-01-02")) + "."
	case notSum == nil && !strings.Contains(prompt, "//") && evaluate(sum).Kind() == constant.Float:
		value := evaluate(sum)
		if whole := constant.ToInt(value); whole.Kind() == constant.Int {
			value = whole
		}
		return hearSum.FindString(prompt) + " = " + value.String()
	}
	return fmt.Sprintf("You said: %s\n\nThat is more than I can answer. %s Say help to see what I can do.", prompt, whatItIs)
}

// evaluate works out a sum exactly.
func evaluate(e ast.Expr) constant.Value {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return evaluate(e.X)
	case *ast.BasicLit:
		return constant.ToFloat(constant.MakeFromLiteral(e.Value, token.FLOAT, 0))
	case *ast.UnaryExpr:
		return constant.UnaryOp(e.Op, evaluate(e.X), 0)
	case *ast.BinaryExpr:
		if x, y := evaluate(e.X), evaluate(e.Y); e.Op != token.QUO || constant.Sign(y) != 0 {
			return constant.BinaryOp(x, e.Op, y)
		}
	}
	return constant.MakeUnknown()
}
