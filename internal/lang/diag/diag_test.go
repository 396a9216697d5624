package diag_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/parley-agents/parley/internal/lang/diag"
)

func ExampleList_Tidy() {
	at := func(line, column int) diag.Span {
		return diag.Span{File: "shop.parley", Start: diag.Pos{Offset: line*80 + column, Line: line, Column: column}}
	}
	found := diag.List{
		diag.New("PAR2111", at(7, 3), "change a class", "query 'q' is answered by response 'r'"),
		diag.New("PAR1001", at(2, 9), diag.DidYouMean("Strng", []string{"Int", "String"}), "unknown type 'Strng'"),
		diag.New("PAR1001", at(2, 9), "", "unknown type 'Strng'"),
	}

	fmt.Print(found.Tidy())
	// Output:
	// shop.parley:2:9: PAR1001 error: unknown type 'Strng'
	//   hint: did you mean 'String'?
	// shop.parley:7:3: PAR2111 warning: query 'q' is answered by response 'r'
	//   hint: change a class
}

func ExampleDiagnostic_MarshalJSON() {
	at := diag.Span{File: "shop.parley", Start: diag.Pos{Offset: 9, Line: 1, Column: 10}}
	text, _ := json.Marshal(diag.New("PAR1001", at, "did you mean 'String'?", "unknown type 'Strng'"))

	fmt.Println(string(text))
	// Output:
	// {"file":"shop.parley","line":1,"column":10,"code":"PAR1001","severity":"error","message":"unknown type 'Strng'","hint":"did you mean 'String'?"}
}

func TestAFileFullOfMistakesIsCut(t *testing.T) {
	var found diag.List
	for i := range diag.MaxPerFile + 50 {
		at := diag.Span{File: "bad", Start: diag.Pos{Offset: i, Line: i + 1, Column: 1}}
		found = append(found, diag.New("PAR0001", at, "", "unexpected character"))
	}
	found = append(found, diag.New("PAR0001", diag.Span{File: "other"}, "", "unexpected character"))

	tidy := found.Tidy()

	if len(tidy) != diag.MaxPerFile+1 || tidy[diag.MaxPerFile].Span.File != "other" {
		t.Errorf("%d left, the last of %s; want %d of the bad file and the one of the other",
			len(tidy), tidy[len(tidy)-1].Span.File, diag.MaxPerFile)
	}
}

func TestAnErrorIsNotLostAmongWarnings(t *testing.T) {
	var found diag.List
	for i := range 2 * diag.MaxPerFile {
		code := "PAR2007"
		if i == 2*diag.MaxPerFile-1 {
			code = "PAR2002"
		}
		found = append(found, diag.New(code, diag.Span{File: "x", Start: diag.Pos{Offset: i, Line: i + 1, Column: 1}}, "", "text"))
	}

	tidy := found.Tidy()

	if len(tidy) != diag.MaxPerFile || !tidy.HasErrors() || tidy[0].Code != "PAR2007" {
		t.Errorf("%d left, errors %t", len(tidy), tidy.HasErrors())
	}
}

func TestNearest(t *testing.T) {
	known := []string{"String", "Int", "description", "request", "response"}
	for written, want := range map[string]string{
		"Strng":      "String",
		"string":     "String",
		"Itn":        "Int",
		"descripton": "description",
		"reqest":     "request",
		"demand":     "",
		"":           "",
		"x":          "",
	} {
		if got := diag.Nearest(written, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", written, got, want)
		}
	}
}
