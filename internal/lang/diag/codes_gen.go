package diag

// Codes of generators: what a target cannot express.
var genCodes = []Info{
	{Code: "PAR5030", Title: "type without a Go form", Explanation: "Go messages are structs, and the types and tags of their fields must say all that the schema does. What no Go type can say is a message that is no record, null as one of several variants, an enum of mixed values, a type that contains itself without a record, and keywords of schemas."},
	{Code: "PAR5031", Title: "type without a JSON form", Explanation: "Custom types are bodies of protobuf messages. JSON Schemas and manifests of uAgents describe JSON, in which they have no form. Use a record, or generate proto or aea."},
	{Code: "PAR5032", Title: "type without a protobuf form", Explanation: "Protobuf has no form for lists of lists, for maps of lists or with keys that are no text, integers or booleans, and for unions inside of these. Wrap the inner one in a record. Names in protobuf have letters from A to Z, digits and underscores only."},
}
