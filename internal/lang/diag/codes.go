package diag

// Codes of the text: characters, tokens, grammar.
var syntaxCodes = []Info{
	{Code: "PAR0001", Title: "unexpected character"},
	{Code: "PAR0002", Title: "something else was expected here"},
	{Code: "PAR0003", Title: "unknown declaration"},
	{Code: "PAR0004", Title: "not closed"},
	{Code: "PAR0005", Title: "malformed string"},
	{Code: "PAR0006", Title: "not UTF-8 text"},
	{Code: "PAR0007", Title: "nested too deeply"},
	{Code: "PAR0008", Title: "malformed or too large number"},
	{Code: "PAR0009", Title: "not at its place"},
	{Code: "PAR0010", Title: "source too large"},
}

// Codes of names, types, imports and annotations.
var typeCodes = []Info{
	{Code: "PAR1001", Title: "unknown type"},
	{Code: "PAR1002", Title: "declared twice"},
	{Code: "PAR1003", Title: "duplicate member"},
	{Code: "PAR1004", Title: "record without an end"},
	{Code: "PAR1005", Title: "default does not fit"},
	{Code: "PAR1006", Title: "constraints that nothing satisfies"},
	{Code: "PAR1007", Title: "constraint on the wrong type"},
	{Code: "PAR1008", Title: "map key"},
	{Code: "PAR1009", Title: "'?' on something else than a field"},
	{Code: "PAR1010", Title: "variants that look alike"},
	{Code: "PAR1011", Title: "unknown constraint"},
	{Code: "PAR1012", Title: "wrong number of type arguments"},
	{Code: "PAR1013", Title: "constraint with a wrong value"},
	{Code: "PAR1014", Title: "spread of something else than a record"},
	{Code: "PAR1015", Title: "enum values"},
	{Code: "PAR1020", Title: "import not found"},
	{Code: "PAR1021", Title: "two major versions of a package"},
	{Code: "PAR1022", Title: "import cycle"},
	{Code: "PAR1030", Title: "unknown annotation"},
	{Code: "PAR1031", Title: "annotation with wrong arguments"},
}

// Codes of protocols and of the names in their dialogues.
var protocolCodes = []Info{
	{Code: "PAR2001", Title: "unknown performative class"},
	{Code: "PAR2002", Title: "not a message of this protocol"},
	{Code: "PAR2003", Title: "nothing initiates the dialogue"},
	{Code: "PAR2004", Title: "unknown role"},
	{Code: "PAR2005", Title: "roles"},
	{Code: "PAR2006", Title: "said twice"},
	{Code: "PAR2009", Severity: Note, Title: "not yet checked"},
	{Code: "PAR2010", Title: "duplicate reply rule"},
}

// Codes of the machine that a dialogue describes.
var machineCodes = []Info{
	{Code: "PAR2101", Title: "message that can never be sent"},
	{Code: "PAR2102", Title: "no end can be reached"},
	{Code: "PAR2104", Title: "message without a reply rule"},
	{Code: "PAR2105", Title: "terminal message with replies"},
	{Code: "PAR2106", Title: "no replies, but not terminal"},
	{Code: "PAR2107", Title: "outcome that is no end state"},
	{Code: "PAR2108", Title: "'else' that names nothing"},
	{Code: "PAR2110", Title: "request without a reply"},
	{Code: "PAR2111", Severity: Warning, Title: "unusual answer to a query"},
	{Code: "PAR2112", Title: "response to something that is no request"},
	{Code: "PAR2120", Title: "wrong sender"},
	{Code: "PAR2121", Severity: Warning, Title: "messages can cross"},
	{Code: "PAR2140", Severity: Warning, Title: "request that can wait forever"},
	{Code: "PAR2141", Title: "bounds that contradict"},
	{Code: "PAR2142", Severity: Note, Title: "loop without a time bound"},
}

// Codes of targets: what a dialect cannot carry.
var targetCodes = []Info{
	{Code: "PAR5001", Title: "type without an AEA form"},
	{Code: "PAR5002", Title: "nested collection in AEA"},
	{Code: "PAR5003", Title: "AEA content of two types"},
	{Code: "PAR5004", Title: "name that AEA reserves"},
	{Code: "PAR5005", Title: "AEA terminal message with replies"},
	{Code: "PAR5006", Title: "too many roles for the target"},
	{Code: "PAR5007", Title: "variants that look alike in JSON"},
	{Code: "PAR5010", Severity: Note, Title: "description that pydantic adds"},
	{Code: "PAR5020", Title: "digest differs after import"},
}
