"""A host made ready for many users, once and by root: `numafit host setup`, its way back, and the sweep that it starts.

`texts` are the files that it writes, as values: units for systemd, rights for tmpfiles, a `host.yaml` to begin with.
`system` is what it does to this system, one small deed each (a group, a folder, a file, a call of systemctl), and
reads back. `steps` says which deeds a host needs, in which order, and how they are undone; each step knows whether it
is done already, so that `--dry-run` and a second call are the same walk. `sweep` is what the timer does each minute.

The design. There is no daemon that has to be asked; one ledger for all is a folder that only a group may enter.

- Whoever may open a file can lock it, for ever if he likes. So nobody outside the group may even read the ledger
  (mode 3770, files 660), and inside the group waiting has an end and names the one who is waited for.
- The group is trusted with the ledger, as a group that may write to a disk is: a member could write anything into it.
  Not with each other's command lines, which lie apart (`book.commands`), nor with `host.yaml`, which belongs to root
  and which the sticky bit of the folder keeps where it is.
- Without systemd everything works but the timer: any command does what it does, on the way.
"""
