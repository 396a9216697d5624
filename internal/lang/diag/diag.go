// Package diag holds what the tools of the protocol language say about a
// source: a code that never changes its meaning, a place, a text for people and,
// where there is one, a hint.
package diag

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Severity says what a diagnostic means for the source it is about.
type Severity uint8

// The severities. Only errors make a source wrong; a note tells what a reader
// of the result should know, such as a check that was not made.
const (
	Error Severity = iota
	Warning
	Note
)

// String returns the word that stands in the text form.
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	case Note:
		return "note"
	}
	return "unknown (" + strconv.Itoa(int(s)) + ")"
}

// A Pos is a place in a file. Offset counts bytes from 0, Line and Column count
// from 1; columns are code points. A Line of zero means the file as a whole.
type Pos struct{ Offset, Line, Column int }

// A Span is a piece of a file; End is the place after its last byte.
type Span struct {
	File       string
	Start, End Pos
}

// A Diagnostic is one finding.
type Diagnostic struct {
	Code     string
	Severity Severity
	Span     Span
	Message  string
	Hint     string
}

// New makes a diagnostic with the severity that its code has in the registry.
// A code that is not there is a mistake in the program and panics.
func New(code string, at Span, hint, format string, args ...any) Diagnostic {
	info, ok := Lookup(code)
	if !ok {
		panic("diag: unknown code " + code)
	}
	return Diagnostic{Code: code, Severity: info.Severity, Span: at, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// String returns the text form without the hint: file:line:col: CODE severity: text.
func (d Diagnostic) String() string {
	var b strings.Builder
	b.WriteString(d.Span.File)
	if d.Span.Start.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", d.Span.Start.Line, d.Span.Start.Column)
	}
	fmt.Fprintf(&b, ": %s %s: %s", d.Code, d.Severity, d.Message)
	return b.String()
}

// MaxPerFile is how many diagnostics [List.Tidy] leaves for one file. Whoever
// wrote more mistakes than that mends these first.
const MaxPerFile = 100

// A List is what was found in one or more files.
type List []Diagnostic

// Tidy returns the list in the order of files and places, without repetitions
// and with at most [MaxPerFile] entries for each file, errors before others.
func (l List) Tidy() List {
	sorted := slices.Clone(l)
	slices.SortStableFunc(sorted, func(a, b Diagnostic) int {
		return cmp.Or(
			strings.Compare(a.Span.File, b.Span.File),
			cmp.Compare(a.Span.Start.Offset, b.Span.Start.Offset),
			cmp.Compare(a.Severity, b.Severity),
			strings.Compare(a.Code, b.Code),
			strings.Compare(a.Message, b.Message),
		)
	})
	sorted = slices.CompactFunc(sorted, func(a, b Diagnostic) bool {
		return a.Code == b.Code && a.Span == b.Span && a.Message == b.Message
	})
	var tidy List
	for from := 0; from < len(sorted); {
		to := from
		for to < len(sorted) && sorted[to].Span.File == sorted[from].Span.File {
			to++
		}
		tidy = append(tidy, shorten(sorted[from:to])...)
		from = to
	}
	return tidy
}

// shorten cuts the list of one file. What is worst stays.
func shorten(list List) List {
	if len(list) <= MaxPerFile {
		return list
	}
	var kept [Note + 1]int
	left := MaxPerFile
	for severity := Error; severity <= Note; severity++ {
		for _, d := range list {
			if d.Severity == severity && left > 0 {
				kept[severity]++
				left--
			}
		}
	}
	var short List
	for _, d := range list {
		if kept[d.Severity] > 0 {
			kept[d.Severity]--
			short = append(short, d)
		}
	}
	return short
}

// HasErrors reports whether any diagnostic is an error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error })
}

// String returns the text forms, one per line, each hint on a line of its own.
func (l List) String() string {
	var b strings.Builder
	for _, d := range l {
		b.WriteString(d.String())
		b.WriteByte('\n')
		if d.Hint != "" {
			b.WriteString("  hint: " + d.Hint + "\n")
		}
	}
	return b.String()
}

// MarshalJSON writes a diagnostic for other programs: file, line, column, code,
// severity, message and hint.
func (d Diagnostic) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // <stdin> is the name of a file; who embeds it in a page escapes it
	err := encoder.Encode(struct {
		File     string `json:"file"`
		Line     int    `json:"line"`
		Column   int    `json:"column"`
		Code     string `json:"code"`
		Severity string `json:"severity"`
		Message  string `json:"message"`
		Hint     string `json:"hint"`
	}{d.Span.File, d.Span.Start.Line, d.Span.Start.Column, d.Code, d.Severity.String(), d.Message, d.Hint})
	return text.Bytes(), err
}
