package diag

import "strings"

func repeat(s string, n int) string { return strings.Repeat(s, n) }

// pair completes a small protocol of two roles, so that explanations show only
// what they are about.
func pair(messages, dialogue string) string {
	return "protocol Shop {\n  roles a, b\n" + indent(messages, 2) + "  dialogue {\n" + indent(dialogue, 4) + "  }\n}\n"
}

func indent(text string, n int) string {
	var b strings.Builder
	for line := range strings.Lines(text + "\n") {
		b.WriteString(strings.Repeat(" ", n) + strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

const (
	askYes   = "message ask: request {}\nmessage yes: response {}"
	askYesNo = askYes + "\nmessage no: error {}"
)

// askRules is the dialogue that belongs to askYes.
const askRules = "initiates [ask] by a\nask -> [yes]\nyes -> []\nterminates [yes]\nend_states [done]"

// Codes of protocols and of the names in their dialogues.
var protocolCodes = []Info{
	{Code: "PAR2001", Title: "unknown performative class",
		Explanation: "The class of a message says what it expects: request, response, inform, query, acknowledge or error. It may be left out.",
		Wrong:       pair("message ask: demand {}\nmessage yes: response {}", askRules),
		Right:       pair(askYes, askRules)},
	{Code: "PAR2002", Title: "not a message of this protocol",
		Explanation: "A dialogue or flow names a message that the protocol does not declare, or a loop that is not around it.",
		Wrong:       pair(askYes, strings.Replace(askRules, "[yes]", "[yes, perhaps]", 1)),
		Right:       pair(askYes, askRules)},
	{Code: "PAR2003", Title: "nothing initiates the dialogue",
		Explanation: "Some message must come first, or none can.",
		Wrong:       pair(askYes, strings.Replace(askRules, "initiates [ask] by a\n", "", 1)),
		Right:       pair(askYes, askRules)},
	{Code: "PAR2004", Title: "unknown role",
		Explanation: "`by`, `from` and flows name roles that the protocol has.",
		Wrong:       pair(askYes, strings.Replace(askRules, "by a", "by buyer", 1)),
		Right:       pair(askYes, askRules)},
	{Code: "PAR2005", Title: "roles that cannot be",
		Explanation: "A role is played by at least one agent, and a dialogue has one or two roles. What happens among more is told as a flow.",
		Wrong:       strings.Replace(pair(askYes, askRules), "roles a, b", "roles a, b, c", 1),
		Right:       pair(askYes, askRules)},
	{Code: "PAR2006", Title: "said twice",
		Explanation: "A protocol has one `roles`, one `dialogue` and one `flow`; a dialogue has one `timeout` and one `keep_terminal`; a role has one name.",
		Wrong:       pair(askYes, askRules+"\ntimeout 1m\ntimeout 2m"),
		Right:       pair(askYes, askRules+"\ntimeout 1m")},
	{Code: "PAR2007", Severity: Warning, Title: "named twice in a list",
		Explanation: "A list of messages or roles holds a name twice. It counts once.",
		Wrong:       pair(askYes, strings.Replace(askRules, "[yes]", "[yes, yes]", 1)),
		Right:       pair(askYes, askRules)},
	{Code: "PAR2008", Title: "time limit of nothing",
		Explanation: "A limit of 0 would be over before anything can happen. Leave it out if there is none.",
		Wrong:       pair(askYes, askRules+"\ntimeout 0s"),
		Right:       pair(askYes, askRules+"\ntimeout 30s")},
	{Code: "PAR2009", Severity: Note, Title: "not yet checked",
		Explanation: "The source was read and its names were resolved, but whether this part is right was not examined. Nothing is wrong with it as far as is known.",
		Wrong:       "protocol Trade {\n  roles a, b, c\n  message m: inform {}\n  flow {\n    a -> b: m\n    b -> c: m\n    end\n  }\n}\n",
		Right:       pair(askYes, askRules)},
	{Code: "PAR2010", Title: "duplicate reply rule",
		Explanation: "All replies to a message stand in one rule.",
		Wrong:       pair(askYes, strings.Replace(askRules, "yes -> []", "ask -> [yes]\nyes -> []", 1)),
		Right:       pair(askYes, askRules)},
}

// Codes of the machine that a dialogue describes.
var machineCodes = []Info{
	{Code: "PAR2101", Title: "message that can never be sent",
		Explanation: "No way leads from the initiating messages to this one: it is no reply to anything that can be sent.",
		Wrong:       pair(askYesNo, strings.Replace(askRules, "yes -> []\nterminates [yes]", "yes -> []\nno -> []\nterminates [yes, no]", 1)),
		Right:       pair(askYesNo, strings.NewReplacer("ask -> [yes]", "ask -> [yes, no]", "yes -> []\nterminates [yes]", "yes -> []\nno -> []\nterminates [yes, no]").Replace(askRules))},
	{Code: "PAR2102", Title: "no end can be reached",
		Explanation: "After this message the dialogue can only go on for ever: no reply leads to an end, and no time limit does.",
		Wrong:       pair("message ping: request {}\nmessage pong: response {}\nmessage bye: inform {}", "initiates [ping, bye] by a\nping -> [pong]\npong -> [ping]\nbye -> []\nterminates [bye]\nend_states [done]"),
		Right:       pair("message ping: request {}\nmessage pong: response {}\nmessage bye: inform {}", "initiates [ping, bye] by a\nping -> [pong]\npong -> [ping, bye]\nbye -> []\nterminates [bye]\nend_states [done]")},
	{Code: "PAR2104", Title: "message without a reply rule",
		Explanation: "Every message has a rule that says what may answer it, be it nothing.",
		Wrong:       pair(askYes, strings.Replace(askRules, "yes -> []\n", "", 1)),
		Right:       pair(askYes, askRules)},
	{Code: "PAR2105", Title: "terminal message with replies",
		Explanation: "A message that terminates the dialogue has no replies, unless its list ends with '?': then the dialogue may rest there and may go on. A receipt has none at all.",
		Wrong:       pair(askYes, strings.Replace(askRules, "yes -> []", "yes -> [ask]", 1)),
		Right:       pair(askYes, strings.Replace(askRules, "yes -> []", "yes -> [ask]?", 1))},
	{Code: "PAR2106", Title: "no replies, but not terminal",
		Explanation: "A message after which nothing comes ends the dialogue, so it stands in `terminates`.",
		Wrong:       pair(askYesNo, strings.NewReplacer("[yes]\nyes -> []", "[yes, no]\nyes -> []\nno -> []").Replace(askRules)),
		Right:       pair(askYesNo, strings.NewReplacer("[yes]\nyes -> []", "[yes, no]\nyes -> []\nno -> []", "terminates [yes]", "terminates [yes, no]").Replace(askRules))},
	{Code: "PAR2107", Title: "outcome that is no end state",
		Explanation: "An outcome binds one of the `end_states` to the message that ends the dialogue.",
		Wrong:       pair(askYes, askRules+"\noutcome lots: yes"),
		Right:       pair(askYes, askRules+"\noutcome done: yes")},
	{Code: "PAR2108", Title: "'else' that names nothing",
		Explanation: "When the time of a rule is up, the dialogue goes to an end state or a message is sent; `else` names one of them.",
		Wrong:       pair(askYes, strings.Replace(askRules, "ask -> [yes]", "ask -> [yes] within 3s else gone", 1)),
		Right:       pair(askYes, strings.NewReplacer("ask -> [yes]", "ask -> [yes] within 3s else gone", "[done]", "[done, gone]").Replace(askRules))},
	{Code: "PAR2110", Title: "request without a reply",
		Explanation: "A request is answered by a response or an error, a query by an inform, a response or an error. The rule allows none of them.",
		Wrong:       pair("message ask: request {}", "initiates [ask] by a\nask -> []\nterminates [ask]\nend_states [done]"),
		Right:       pair(askYes, askRules)},
	{Code: "PAR2111", Severity: Warning, Title: "unusual answer to a query",
		Explanation: "A query asks to be told something, and telling is an inform. A response is understood too, but peers expect the other.",
		Wrong:       pair("message ask: query {}\nmessage yes: response {}", askRules),
		Right:       pair("message ask: query {}\nmessage yes: inform {}", askRules)},
	{Code: "PAR2112", Title: "response to something that is no request",
		Explanation: "A response answers a request or a query. To an inform there is nothing to respond to.",
		Wrong:       pair("message ask: inform {}\nmessage yes: response {}", askRules),
		Right:       pair(askYes, askRules)},
	{Code: "PAR2120", Title: "wrong sender",
		Explanation: "Replies alternate between two roles unless `by` says otherwise. Here a message would be sent by a role that its declaration, or another rule, does not let send it.",
		Wrong:       pair("message ask: request {}\nmessage yes: response from a {}", askRules),
		Right:       pair("message ask: request {}\nmessage yes: response from b {}", askRules)},
	{Code: "PAR2121", Severity: Warning, Title: "messages can cross",
		Explanation: "After this message both sides may speak. If both do, each meets the other's message where it did not expect it. Let one side speak, or say with @race(ok) that it is meant.",
		Wrong:       pair("message open: inform {}\nmessage data: inform {}\nmessage close: inform {}", "initiates [open] by a\nopen -> [data, close] by a, b\ndata -> [data, close]\nclose -> []\nterminates [close]\nend_states [done]"),
		Right:       pair("message open: inform {}\nmessage data: inform {}\nmessage close: inform {}", "initiates [open] by a\nopen -> [data, close]\ndata -> [data, close]\nclose -> []\nterminates [close]\nend_states [done]")},
	{Code: "PAR2140", Severity: Warning, Title: "request that can wait forever",
		Explanation: "Nothing bounds the time in which a request or query must be answered. Said only if time limits are asked for.",
		Wrong:       pair(askYes, askRules),
		Right:       pair(askYes, askRules+"\ntimeout 1m")},
	{Code: "PAR2141", Title: "bounds that contradict",
		Explanation: "A reply may take longer than the whole dialogue.",
		Wrong:       pair(askYes, strings.Replace(askRules, "ask -> [yes]", "ask -> [yes] within 60s", 1)+"\ntimeout 30s"),
		Right:       pair(askYes, strings.Replace(askRules, "ask -> [yes]", "ask -> [yes] within 20s", 1)+"\ntimeout 30s")},
	{Code: "PAR2142", Severity: Note, Title: "loop without a time bound",
		Explanation: "A dialogue can go round for ever without any time limit. Said only if time limits are asked for.",
		Wrong:       pair("message say: inform {}\nmessage bye: inform {}", "initiates [say] by a\nsay -> [say, bye]\nbye -> []\nterminates [bye]\nend_states [done]"),
		Right:       pair("message say: inform {}\nmessage bye: inform {}", "initiates [say] by a\nsay -> [say, bye]\nbye -> []\nterminates [bye]\nend_states [done]\ntimeout 1h")},
}

// post is a source that can be an AEA protocol.
func post(messages, dialogue string) string {
	return "@aea(author: \"acme\")\npackage acme.post version \"1.0.0\"\n\n" + pair(messages, dialogue)
}

const (
	oneParcel  = "initiates [parcel] by a\nparcel -> []\nterminates [parcel]\nend_states [done]"
	twoParcels = "initiates [parcel, letter] by a\nparcel -> []\nletter -> []\nterminates [parcel, letter]\nend_states [done]"
	parcelBack = "initiates [parcel] by a\nparcel -> [letter]\nletter -> []\nterminates [letter]\nend_states [done]"
)

// manifest is one of a Python agent with one message.
func manifest(field string) string {
	return "{\n  \"version\": \"1.0\",\n  \"metadata\": {\"name\": \"Post\", \"version\": \"1.0.0\"},\n  \"models\": [{\"digest\": \"a\", \"schema\": {\"title\": \"Parcel\", \"type\": \"object\", \"properties\": {\n    \"labels\": " +
		field + "\n  }, \"required\": [\"labels\"]}}],\n  \"interactions\": [{\"type\": \"normal\", \"request\": \"a\", \"responses\": []}]\n}\n"
}

// Codes of targets: what a dialect cannot carry.
var targetCodes = []Info{
	{Code: "PAR5001", Title: "type without an AEA form",
		Explanation: "AEA messages hold bytes, integers, floats, booleans, strings, collections of these and custom types. Use one of them.",
		Wrong:       post("message parcel: inform { due: DateTime }", oneParcel),
		Right:       post("message parcel: inform { due: String }", oneParcel)},
	{Code: "PAR5002", Title: "nested collection in AEA",
		Explanation: "Collections in AEA messages hold only primitive types. Wrap the inner one in a custom type.",
		Wrong:       post("message parcel: inform { rows: List<List<Int>> }", oneParcel),
		Right:       post("custom Rows \"bytes rows = 1;\"\nmessage parcel: inform { rows: Rows }", oneParcel)},
	{Code: "PAR5003", Title: "AEA content of two types",
		Explanation: "A content of one name has one type in all messages of an AEA protocol. Rename one.",
		Wrong:       post("message parcel: inform { size: Int }\nmessage letter: inform { size: String }", twoParcels),
		Right:       post("message parcel: inform { weight: Int }\nmessage letter: inform { size: String }", twoParcels)},
	{Code: "PAR5004", Title: "name that AEA reserves",
		Explanation: "AEA uses message_id, target, performative, _body and dialogue_reference itself.",
		Wrong:       post("message parcel: inform { target: String }", oneParcel),
		Right:       post("message parcel: inform { receiver: String }", oneParcel)},
	{Code: "PAR5005", Title: "AEA terminal message with replies",
		Explanation: "In AEA a message that ends a dialogue has no replies, so a rule that ends with '?' has no form there.",
		Wrong:       post("message parcel: inform {}\nmessage letter: inform {}", strings.NewReplacer("[letter]\nletter", "[letter]?\nletter", "terminates [", "terminates [parcel, ").Replace(parcelBack)),
		Right:       post("message parcel: inform {}\nmessage letter: inform {}", parcelBack)},
	{Code: "PAR5006", Title: "too many roles for the target",
		Explanation: "AEA and uAgents protocols have one or two roles.",
		Wrong:       "package acme.post version \"1.0.0\"\n\nprotocol Post {\n  roles a, b, c\n  message parcel: inform {}\n  flow {\n    a -> b: parcel\n    b -> c: parcel\n    end\n  }\n}\n",
		Right:       post("message parcel: inform {}", oneParcel)},
	{Code: "PAR5007", Title: "variants that look alike in JSON",
		Explanation: "Over JSON a reader cannot see which variant a value is of. Add a literal field, or keep the protocol to AEA.",
		Wrong:       post("message parcel: inform { content: String | Bytes }", oneParcel),
		Right:       post("message parcel: inform { content: { kind: \"text\", text: String } | { kind: \"data\", data: Bytes } }", oneParcel)},
	{Code: "PAR5010", Severity: Note, Title: "description that pydantic adds",
		Explanation: "The Python library describes every enum as \"An enumeration.\" unless its class says something else. That text is part of the digest and kept.",
		Wrong:       "enum Size {\n  SMALL,\n  LARGE\n}\n",
		Right:       "@description(\"How large a parcel is.\")\nenum Size {\n  SMALL,\n  LARGE\n}\n"},
	{Code: "PAR5020", Title: "digest differs after import",
		Explanation: "What was imported could not be written again with the same digest, so peers would refuse it. The hint names what the language cannot say.",
		Wrong:       manifest(`{"title": "Labels", "type": "array", "items": {"type": "string", "writeOnly": true}}`),
		Right:       manifest(`{"title": "Labels", "type": "array", "items": {"type": "string"}}`)},
}
