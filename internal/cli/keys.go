package cli

import (
	"bufio"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/parley-agents/parley/fault"
	"github.com/parley-agents/parley/identity"
	"github.com/parley-agents/parley/keystore"
)

func newKeys() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make, show, import and export the keys of agents",
		Long: `Make, show, import and export the keys of agents. Keys live in the data folder,
one file each, readable by their owner only. A key that was stored with a
passphrase needs it again: from a terminal, or from $PARLEY_PASSPHRASE.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newKeysNew(), newKeysList(), newKeysShow(), newKeysImport(), newKeysExport())
	return cmd
}

const passphraseVariable = "PARLEY_PASSPHRASE"

// walletSuffix names the second key that the Python library keeps per agent.
const walletSuffix = "-wallet"

func openKeys(data string) (*keystore.Store, error) {
	folder, err := dataFolder(data)
	if err != nil {
		return nil, err
	}
	return keystore.Open(folder)
}

// findKey finds a key that somebody has named, and says how to make it.
func findKey(store *keystore.Store, data, name string) (keystore.Entry, error) {
	entry, err := store.Find(name)
	if fault.CodeOf(err) == fault.NotFound {
		folder := ""
		if data != "" {
			folder = " --data " + data
		}
		err = fmt.Errorf("%w: parley keys new %s%s makes it", err, name, folder)
	}
	return entry, err
}

// storedKey reads a key and asks for its passphrase if it has one.
func storedKey(data, name string) (*identity.Key, error) {
	store, err := openKeys(data)
	if err != nil {
		return nil, err
	}
	entry, err := findKey(store, data, name)
	if err != nil {
		return nil, err
	}
	passphrase := ""
	if entry.Encrypted {
		if passphrase, err = askPassphrase("Passphrase of " + name + ": "); err != nil {
			return nil, err
		}
	}
	return store.Get(name, passphrase)
}

// askPassphrase takes the passphrase from the environment, else from a terminal.
func askPassphrase(prompt string) (string, error) {
	if passphrase := os.Getenv(passphraseVariable); passphrase != "" {
		return passphrase, nil
	}
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return "", fault.Errorf(fault.Unverified, "passphrase", "a passphrase is needed: set $%s, or run this in a terminal", passphraseVariable)
	}
	defer terminal.Close()
	fmt.Fprint(terminal, prompt)
	typed, err := term.ReadPassword(int(terminal.Fd()))
	fmt.Fprintln(terminal)
	return string(typed), err
}

// newPassphrase asks twice, so that a slip does not lock a key for good.
func newPassphrase(encrypt bool) (string, error) {
	if !encrypt {
		return "", nil
	}
	passphrase, err := askPassphrase("New passphrase: ")
	if err != nil || os.Getenv(passphraseVariable) != "" {
		return passphrase, err
	}
	again, err := askPassphrase("The same again: ")
	if err == nil && (again != passphrase || passphrase == "") {
		err = fault.Errorf(fault.Malformed, "passphrase", "the two differ, or are empty; nothing was stored")
	}
	return passphrase, err
}

type entryJSON struct {
	Name      string           `json:"name"`
	Address   identity.Address `json:"address"`
	Encrypted bool             `json:"encrypted"`
}

func printEntry(cmd *cobra.Command, e keystore.Entry, asJSON bool) {
	if asJSON {
		printJSON(cmd.OutOrStdout(), entryJSON{e.Name, e.Address, e.Encrypted})
		return
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s  %s\n", e.Name, e.Address)
}

func newKeysNew() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Make a random key and store it",
		Example: `  parley keys new alice
  PARLEY_PASSPHRASE=… parley keys new alice --encrypt`,
	}
	data, asJSON := dataFlag(cmd), jsonFlag(cmd)
	encrypt := cmd.Flags().Bool("encrypt", false, "encrypt the key with a passphrase")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		store, err := openKeys(*data)
		if err != nil {
			return err
		}
		passphrase, err := newPassphrase(*encrypt)
		if err != nil {
			return err
		}
		entry, err := store.New(args[0], &keystore.Options{Passphrase: passphrase})
		if err != nil {
			return err
		}
		printEntry(cmd, entry, *asJSON)
		return nil
	}
	return cmd
}

func newKeysList() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the stored keys and their addresses",
		Example: "  parley keys list --json",
	}
	data, asJSON := dataFlag(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		store, err := openKeys(*data)
		if err != nil {
			return err
		}
		entries, listErr := store.List() // an unreadable file does not hide the others
		if *asJSON {
			list := []entryJSON{}
			for _, e := range entries {
				list = append(list, entryJSON{e.Name, e.Address, e.Encrypted})
			}
			printJSON(cmd.OutOrStdout(), list)
			return listErr
		}
		var rows [][]string
		for _, e := range entries {
			row := []string{e.Name, string(e.Address)}
			if e.Encrypted {
				row = append(row, "encrypted")
			}
			rows = append(rows, row)
		}
		if len(rows) == 0 && listErr == nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "no keys yet: parley keys new NAME")
		}
		table(cmd.OutOrStdout(), rows)
		return listErr
	}
	return cmd
}

func newKeysShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show what is public about a stored key",
		Example: "  parley keys show alice",
	}
	data, asJSON := dataFlag(cmd), jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		store, err := openKeys(*data)
		if err != nil {
			return err
		}
		entry, err := findKey(store, *data, args[0])
		if err != nil {
			return err
		}
		_, public, err := identity.DecodeBech32(string(entry.Address))
		if err != nil {
			return err
		}
		identifier := identity.Identifier{Prefix: "agent", Address: entry.Address}.String()
		if *asJSON {
			printJSON(cmd.OutOrStdout(), struct {
				entryJSON
				Identifier string `json:"identifier"`
				PublicKey  string `json:"public_key"`
			}{entryJSON{entry.Name, entry.Address, entry.Encrypted}, identifier, hex.EncodeToString(public)})
			return nil
		}
		table(cmd.OutOrStdout(), [][]string{
			{"name", entry.Name}, {"address", string(entry.Address)}, {"identifier", identifier},
			{"public key", hex.EncodeToString(public)}, {"encrypted", map[bool]string{true: "yes", false: "no"}[entry.Encrypted]},
		})
		return nil
	}
	return cmd
}

func newKeysImport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import [private_keys.json]",
		Short: "Store keys that exist already",
		Long: `Store keys that exist already: all those of a private_keys.json, as the Python
library writes it, with the wallet key of an agent beside it as NAME-wallet; or,
with --seed or --hex and a name, one key whose seed phrase or private key is
read from standard input, up to the end of the line.`,
		Example: `  parley keys import private_keys.json
  printf 'my recovery phrase' | parley keys import --seed --name alice`,
	}
	data, asJSON := dataFlag(cmd), jsonFlag(cmd)
	name := cmd.Flags().String("name", "", "name for the one key of --seed or --hex")
	seed := cmd.Flags().Bool("seed", false, "read a seed phrase from standard input")
	isHex := cmd.Flags().Bool("hex", false, "read a private key in hexadecimal from standard input")
	encrypt := cmd.Flags().Bool("encrypt", false, "encrypt the keys with a passphrase")
	cmd.MarkFlagsMutuallyExclusive("seed", "hex")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		keys, err := readKeys(cmd, args, *name, *seed, *isHex)
		if err != nil {
			return err
		}
		store, err := openKeys(*data)
		if err != nil {
			return err
		}
		passphrase, err := newPassphrase(*encrypt)
		if err != nil {
			return err
		}
		return storeKeys(cmd, store, keys, passphrase, *asJSON)
	}
	return cmd
}

type namedKey struct {
	name string
	key  *identity.Key
}

func readKeys(cmd *cobra.Command, args []string, name string, seed, isHex bool) ([]namedKey, error) {
	switch {
	case !seed && !isHex && len(args) == 1:
		text, err := readInput(cmd, args[0])
		if err != nil {
			return nil, err
		}
		return peerKeys(text)
	case !seed && !isHex:
		return nil, errors.New("name a private_keys.json, or say --seed or --hex; see parley keys import --help")
	case name == "" || len(args) > 0:
		return nil, errors.New("--seed and --hex read one key from standard input and need --name, and no file")
	}
	secret, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil && secret == "" {
		return nil, errors.New("nothing on standard input")
	}
	secret = strings.TrimSuffix(strings.TrimSuffix(secret, "\n"), "\r")
	var key *identity.Key
	if seed {
		key, err = identity.FromSeed(secret, 0)
	} else {
		key, err = identity.ParseKey(secret)
	}
	return []namedKey{{name, key}}, err
}

func peerKeys(text []byte) ([]namedKey, error) {
	peers, err := keystore.ParsePeerKeys(text)
	if err != nil {
		return nil, err
	}
	var keys []namedKey
	for _, p := range peers {
		keys = append(keys, namedKey{p.Name, p.Identity})
		if p.Wallet != nil {
			keys = append(keys, namedKey{p.Name + walletSuffix, p.Wallet})
		}
	}
	return keys, nil
}

// storeKeys stores all keys or none: a name that is taken by another key is
// found before anything is written. A key that is there already is no conflict.
func storeKeys(cmd *cobra.Command, store *keystore.Store, keys []namedKey, passphrase string, asJSON bool) error {
	var fresh []namedKey
	for _, k := range keys {
		entry, err := store.Find(k.name)
		switch {
		case fault.CodeOf(err) == fault.NotFound:
			fresh = append(fresh, k)
		case err != nil:
			return err
		case entry.Address != k.key.Address():
			return fault.Errorf(fault.Conflict, k.name, "another key has this name; nothing was stored")
		}
	}
	for _, k := range fresh {
		if _, err := store.Put(k.name, k.key, &keystore.Options{Passphrase: passphrase}); err != nil {
			return err
		}
	}
	list := []entryJSON{}
	for _, k := range keys {
		entry, err := store.Find(k.name)
		if err != nil {
			return err
		}
		list = append(list, entryJSON{entry.Name, entry.Address, entry.Encrypted})
		if !asJSON {
			printEntry(cmd, entry, false)
		}
	}
	if asJSON {
		printJSON(cmd.OutOrStdout(), list)
	}
	return nil
}

func newKeysExport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export NAME",
		Short: "Print the private key: whoever sees it can speak as the agent",
		Long: `Print the private key in hexadecimal, or with --uagents a private_keys.json that
the Python library reads. Whoever sees it can speak as the agent.`,
		Example: `  parley keys export alice | parley keys import --hex --name copy
  parley keys export alice --uagents > private_keys.json`,
	}
	data, asJSON := dataFlag(cmd), jsonFlag(cmd)
	uagents := cmd.Flags().Bool("uagents", false, "print a private_keys.json; needs the key NAME-wallet too")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := args[0]
		key, err := storedKey(*data, name)
		if err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		switch {
		case *uagents:
			wallet, err := storedKey(*data, name+walletSuffix)
			if err != nil {
				return fmt.Errorf("the Python library wants a wallet key too (make one with parley keys new %s): %w", name+walletSuffix, err)
			}
			secret, err := hex.DecodeString(wallet.Expose())
			if err != nil {
				return err
			}
			printJSON(out, map[string]any{name: map[string]string{
				"identity_key": key.Expose(), "wallet_key": base64.StdEncoding.EncodeToString(secret),
			}})
		case *asJSON:
			printJSON(out, map[string]string{"name": name, "address": string(key.Address()), "private_key": key.Expose()})
		default:
			fmt.Fprintln(out, key.Expose())
		}
		return nil
	}
	return cmd
}
