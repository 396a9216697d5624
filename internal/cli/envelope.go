package cli

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/wire/uagents"
)

func newEnvelope() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "envelope",
		Short: "Open and seal signed envelopes of the uAgents wire",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newEnvelopeOpen(), newEnvelopeSeal())
	return cmd
}

func newEnvelopeOpen() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "open [FILE]",
		Short: "Check an envelope and show what is in it",
		Long: `Check an envelope from a file or standard input and show its fields and its
payload. The exit code is 0 if the signature proves the sender, or if the sender
is a user address, which does not sign; it is 1 if the envelope is refused.`,
		Example: `  parley envelope open < envelope.json
  parley envelope open --json envelope.json`,
	}
	asJSON := jsonFlag(cmd)
	lenient := cmd.Flags().Bool("lenient", false, "accept what only the Python library accepts: upper-case and other spellings of addresses")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		data, err := readInput(cmd, pathOrStdin(args))
		if err != nil {
			return err
		}
		o := open(data, *lenient)
		if *asJSON {
			printJSON(cmd.OutOrStdout(), o)
		} else {
			o.print(cmd)
		}
		if o.Error != nil {
			return errReported
		}
		return nil
	}
	return cmd
}

// opened is what can be said of an envelope.
type opened struct {
	Verdict  string            `json:"verdict"` // verified, unsigned or refused
	Error    map[string]string `json:"error,omitempty"`
	Envelope json.RawMessage   `json:"envelope,omitempty"`
	Payload  json.RawMessage   `json:"payload,omitempty"` // the message, if it is JSON
	Text     string            `json:"payload_text,omitempty"`
	Expired  bool              `json:"expired"`

	decoded *uagents.Envelope
}

func open(data []byte, lenient bool) *opened {
	o := &opened{Verdict: "refused"}
	e, err := uagents.Decode(data)
	if err == nil {
		o.decoded, o.Envelope = e, e.Encode()
		o.describe(e)
		err = check(e, lenient)
	}
	if coded, ok := errors.AsType[*fault.Error](err); ok {
		o.Error = jsonError(coded)
		return o
	}
	o.Verdict = "verified"
	if e.Signature == nil {
		o.Verdict = "unsigned"
	}
	return o
}

func check(e *uagents.Envelope, lenient bool) error {
	verifier := identity.NewVerifier(&identity.VerifierOptions{Lenient: lenient})
	if !lenient {
		if err := e.Validate(); err != nil {
			return err
		}
	}
	if e.Sender.IsUser() && e.Signature == nil {
		return nil
	}
	return e.Verify(verifier)
}

func (o *opened) describe(e *uagents.Envelope) {
	o.Expired = e.Expires != nil && uint64(time.Now().Unix()) > *e.Expires
	payload, err := e.DecodePayload()
	switch {
	case err != nil:
	case json.Valid(payload):
		o.Payload = payload
	default:
		o.Text = string(payload)
	}
}

func (o *opened) print(cmd *cobra.Command) {
	out := cmd.OutOrStdout()
	if o.Error != nil {
		fmt.Fprintf(out, "refused: %s", o.Error["code"])
		if o.Error["field"] != "" {
			fmt.Fprintf(out, ": %s", o.Error["field"])
		}
		fmt.Fprintf(out, ": %s\n", o.Error["text"])
	} else {
		fmt.Fprintln(out, o.Verdict)
	}
	e := o.decoded
	if e == nil {
		return
	}
	rows := [][]string{
		{"sender", string(e.Sender)}, {"target", string(e.Target)}, {"session", e.Session.String()}, {"schema", e.SchemaDigest},
	}
	if e.ProtocolDigest != nil {
		rows = append(rows, []string{"protocol", *e.ProtocolDigest + " (not signed)"})
	}
	if e.Expires != nil {
		rows = append(rows, []string{"expires", expiry(*e.Expires, o.Expired)})
	}
	if e.Nonce != nil {
		rows = append(rows, []string{"nonce", fmt.Sprint(*e.Nonce)})
	}
	if o.Payload != nil {
		rows = append(rows, []string{"payload", string(o.Payload)})
	} else if o.Text != "" {
		rows = append(rows, []string{"payload", fmt.Sprintf("%q (no JSON)", o.Text)})
	}
	table(out, rows)
}

// lastSecond is the end of the year 9999; later times do not print as dates.
const lastSecond = 253402300799

func expiry(seconds uint64, expired bool) string {
	if seconds > lastSecond {
		return fmt.Sprintf("%d", seconds)
	}
	text := time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339)
	if expired {
		text += " (expired)"
	}
	return text
}

type sealFlags struct {
	data, key, to, schema, manifest, model, protocol, session string
	expires                                                   time.Duration
}

func newEnvelopeSeal() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "seal [FILE]",
		Short: "Sign a message and print the envelope",
		Long: `Read a message's JSON from a file or standard input, sign it with a stored key
and print the envelope. With --manifest and --model the message is checked
against its model and written as the model's own agents would write it; with
--schema it is taken as it is.`,
		Example: `  echo '{"message": "hello"}' | parley envelope seal --key alice --to agent1q… --schema model:29f7…
  parley envelope seal --key alice --to agent1q… --manifest chat.json --model ChatMessage message.json`,
	}
	var f sealFlags
	data := dataFlag(cmd)
	asJSON := jsonFlag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.key, "key", "", "name of the stored key to sign with")
	flags.StringVar(&f.to, "to", "", "address of the receiver")
	flags.StringVar(&f.schema, "schema", "", "digest of the message's model")
	flags.StringVar(&f.manifest, "manifest", "", "manifest that has the message's model")
	flags.StringVar(&f.model, "model", "", "title of the model in the manifest")
	flags.StringVar(&f.protocol, "protocol", "", "digest of the protocol, if it is to be said")
	flags.StringVar(&f.session, "session", "", "UUID of the session (default a new one)")
	flags.DurationVar(&f.expires, "expires", 24*time.Hour, "how long the envelope is valid")
	for _, name := range []string{"key", "to"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
	cmd.MarkFlagsMutuallyExclusive("schema", "manifest")
	cmd.MarkFlagsOneRequired("schema", "manifest")
	cmd.MarkFlagsRequiredTogether("manifest", "model")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.data = *data
		payload, err := readInput(cmd, pathOrStdin(args))
		if err != nil {
			return err
		}
		e, err := seal(&f, payload)
		if err != nil {
			return err
		}
		if *asJSON {
			printJSON(cmd.OutOrStdout(), json.RawMessage(e.Encode()))
			return nil
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", e.Encode())
		return err
	}
	return cmd
}

func seal(f *sealFlags, payload []byte) (*uagents.Envelope, error) {
	target, err := identity.ParseAddress(f.to)
	if err != nil {
		return nil, fault.In("to", err)
	}
	session := uuid.New()
	if f.session != "" {
		if session, err = uuid.Parse(f.session); err != nil {
			return nil, fault.Errorf(fault.Malformed, "session", "expected a UUID of version 4, found %q", f.session)
		}
	}
	if f.manifest != "" {
		if f.schema, payload, err = conformTo(f.manifest, f.model, payload); err != nil {
			return nil, err
		}
	} else if !json.Valid(payload) {
		return nil, fault.Errorf(fault.Malformed, "payload", "the message is not JSON")
	}
	nonce := make([]byte, 8)
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	key, err := storedKey(f.data, f.key)
	if err != nil {
		return nil, err
	}
	return uagents.Seal(key, &uagents.Draft{
		Target: target, Session: session, SchemaDigest: f.schema, ProtocolDigest: f.protocol, Payload: payload,
		Expires: uint64(time.Now().Add(f.expires).Unix()), Nonce: binary.BigEndian.Uint64(nonce),
	})
}
