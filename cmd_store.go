package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/railmap/railmap/placer/ledger"
)

// newStoreCmd keeps the ledger's file: of a server that is stopped.
func newStoreCmd(e *env) *cobra.Command {
	return newGroup("store", "Check, back up and restore the ledger's file", newStoreCheckCmd(e), newStoreBackupCmd(e), newStoreRestoreCmd(e))
}

func addDataFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "data", defaultConfig().Data, "data folder of railmap serve")
}

func newStoreCheckCmd(e *env) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "check",
		Short: "Check every page and record of the ledger, also while a server runs; exit 2 when damaged",
		RunE: func(*cobra.Command, []string) error {
			path := filepath.Join(dir, ledgerFile)
			n, err := ledger.CheckFile(path)
			if err != nil {
				return withCode(exitUsage, err)
			}
			_, err = fmt.Fprintf(e.stdout, "%s: sound, %d leases\n", path, n)
			return err
		},
	}
	addDataFlag(c, &dir)
	return c
}

func newStoreBackupCmd(e *env) *cobra.Command {
	var dir, from, out string
	var flags serverFlags
	c := &cobra.Command{
		Use:   "backup",
		Short: "Copy the ledger as it is at one moment",
		Long: `Backup copies the ledger. Of a running server it is asked for with --server (administrators only); otherwise the server must
be stopped.`,
		Example: `  railmap store backup --data /var/lib/railmap -o ledger-backup.db
  railmap store backup --server http://127.0.0.1:7070 -o ledger-backup.db`,
		RunE: func(c *cobra.Command, _ []string) error {
			if flags.url != "" {
				return backupRunning(c.Context(), e, &flags, out)
			}
			return backupStopped(e, filepath.Join(dir, from), out)
		},
	}
	from = ledgerFile
	c.Flags().StringVarP(&out, "out", "o", "", "file to write")
	_ = c.MarkFlagRequired("out")
	addDataFlag(c, &dir)
	flags.add(c, 60e9)
	return c
}

func backupRunning(ctx context.Context, e *env, flags *serverFlags, out string) error {
	client, ctx, cancel, err := flags.client(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	data, err := client.Backup(ctx)
	if err != nil {
		return serverError(err)
	}
	return finishBackup(e, out, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

func backupStopped(e *env, path, out string) error {
	if _, err := os.Stat(path); err != nil {
		return withCode(exitUsage, err)
	}
	s, err := ledger.OpenBolt(path)
	if err != nil {
		return withCode(exitUsage, err)
	}
	defer s.Close()
	return finishBackup(e, out, s.Backup)
}

// finishBackup writes and then checks what was written: a backup that cannot be read is none.
func finishBackup(e *env, out string, write func(io.Writer) error) error {
	if err := replaceFile(out, 0o600, write); err != nil {
		return err
	}
	n, err := ledger.CheckFile(out)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stderr, "%s: %d leases\n", out, n)
	return nil
}

func newStoreRestoreCmd(e *env) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "restore BACKUP",
		Short: "Put a backup in the place of the ledger; the server must be stopped",
		Long: `Restore checks the backup and puts it in the place of the ledger's file. The old file stays as ledger.db.before-restore.
Leases granted after the backup are forgotten: submit the schedulers' occupancy first thing after the start, so that their
nodes are not given out again.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path := filepath.Join(dir, ledgerFile)
			if err := ledger.RestoreFile(args[0], path); err != nil {
				return withCode(exitUsage, err)
			}
			fmt.Fprintf(e.stderr, "%s: restored; the old one is %s.before-restore\n", path, path)
			return nil
		},
	}
	addDataFlag(c, &dir)
	return c
}
