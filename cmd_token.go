package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/railmap/railmap/placer/server"
)

// newTokenCmd manages the file of bearer tokens.
func newTokenCmd(e *env) *cobra.Command {
	return newGroup("token", "Make, list and revoke the tokens of the placement service", newTokenCreateCmd(e), newTokenListCmd(e), newTokenRevokeCmd(e))
}

// addTokensFlag adds --tokens.
func addTokensFlag(c *cobra.Command, path *string) {
	c.Flags().StringVar(path, "tokens", "", "file of tokens, the one of railmap serve --tokens")
	_ = c.MarkFlagRequired("tokens")
}

func newTokenCreateCmd(e *env) *cobra.Command {
	var path, name, role, node string
	c := &cobra.Command{
		Use:   "create",
		Short: "Make a token; it is printed once, the file keeps its hash",
		Long: `Create adds a token to the file and prints it. Roles: reporter (send reports about one node), requester (read the map, place,
hold leases), admin (everything). A running server takes the file when it changes.`,
		Example: `  railmap token create --tokens tokens.yaml --name gpu-001 --role reporter --node gpu-001
  RAILMAP_TOKEN=$(railmap token create --tokens tokens.yaml --name slurm --role requester)`,
		RunE: func(*cobra.Command, []string) error {
			tokens, err := readTokens(path)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return withCode(exitUsage, err)
			}
			if slices.ContainsFunc(tokens, func(t server.Token) bool { return t.Name == name }) {
				return usagef("--name %s: there is a token of this name: revoke it first", name)
			}
			secret, t, err := server.NewToken(name, server.Role(role), node, e.now())
			if err != nil {
				return withCode(exitUsage, err)
			}
			if err := writeTokens(e, path, append(tokens, t)); err != nil {
				return err
			}
			_, err = fmt.Fprintln(e.stdout, secret)
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&name, "name", "", "name of the holder, for logs and revoking")
	f.StringVar(&role, "role", string(server.Requester), "reporter, requester or admin")
	f.StringVar(&node, "node", "", "node of a reporter")
	_ = c.MarkFlagRequired("name")
	addTokensFlag(c, &path)
	return c
}

func newTokenListCmd(e *env) *cobra.Command {
	var path string
	var out output
	c := &cobra.Command{
		Use:   "list",
		Short: "List the tokens",
		RunE: func(*cobra.Command, []string) error {
			tokens, err := readTokens(path)
			if err != nil {
				return withCode(exitUsage, err)
			}
			if done, err := out.document(e, tokens); done {
				return err
			}
			t := newTable("NAME", "ROLE", "NODE", "CREATED")
			for _, k := range tokens {
				t.add(k.Name, string(k.Role), k.Node, k.CreatedAt.Format("2006-01-02"))
			}
			return t.write(e.stdout, &out)
		},
	}
	addTokensFlag(c, &path)
	addOutput(c, &out, formatTable, formatJSON, formatYAML)
	return c
}

func newTokenRevokeCmd(e *env) *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:   "revoke NAME",
		Short: "Take a token away",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			tokens, err := readTokens(path)
			if err != nil {
				return withCode(exitUsage, err)
			}
			rest := slices.DeleteFunc(slices.Clone(tokens), func(t server.Token) bool { return t.Name == args[0] })
			if len(rest) == len(tokens) {
				return usagef("no token is named %s (railmap token list)", args[0])
			}
			return writeTokens(e, path, rest)
		},
	}
	addTokensFlag(c, &path)
	return c
}

func readTokens(path string) ([]server.Token, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	tokens, err := server.ParseTokens(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return tokens, nil
}

// writeTokens replaces the file; only its owner may read it.
func writeTokens(_ *env, path string, tokens []server.Token) error {
	data, err := yaml.Marshal(tokens)
	if err != nil {
		return err
	}
	return replaceFile(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
