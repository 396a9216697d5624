package sqlite

// applicationID marks a file as ours: "PRLY".
const applicationID = 0x50524c59

// migrations lead from each version of the file to the next; the first makes a
// new one. A version that was released is never changed: add another step.
//
// Times are microseconds since 1970, NULL for none. The agent of a row is a
// number, and where it is the sender or the target of a message that column is
// NULL. seq comes from one counter for all tables, see [writer.reserve].
var migrations = []string{`
CREATE TABLE counter (
	name  TEXT PRIMARY KEY,
	value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counter VALUES ('seq', 1);

CREATE TABLE agent (
	id      INTEGER PRIMARY KEY,
	address TEXT NOT NULL UNIQUE
) STRICT;

-- key is the start of a hash of the mark's ID: IDs are long, and there is one
-- for each message of a week. inbox is NULL if it is the same as the ID.
CREATE TABLE mark (
	agent   INTEGER NOT NULL,
	key     BLOB NOT NULL,
	inbox   TEXT,
	expires INTEGER,
	PRIMARY KEY (agent, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX mark_expires ON mark (expires) WHERE expires IS NOT NULL;

CREATE TABLE inbox (
	seq      INTEGER PRIMARY KEY,
	agent    INTEGER NOT NULL,
	id       TEXT NOT NULL,
	attempts INTEGER NOT NULL,
	before   INTEGER,
	dialogue TEXT NOT NULL,
	sender   TEXT,
	target   TEXT,
	session  TEXT NOT NULL,
	schema   TEXT NOT NULL,
	protocol TEXT NOT NULL,
	payload  BLOB,
	proof    TEXT NOT NULL,
	expires  INTEGER,
	sync     INTEGER NOT NULL,
	UNIQUE (agent, id)
) STRICT;
CREATE INDEX inbox_agent ON inbox (agent);

-- finished is when the entry became delivered or failed.
CREATE TABLE outbox (
	seq      INTEGER PRIMARY KEY,
	agent    INTEGER NOT NULL,
	id       TEXT NOT NULL,
	in_reply TEXT,
	state    INTEGER NOT NULL,
	attempts INTEGER NOT NULL,
	next     INTEGER,
	reason   TEXT,
	finished INTEGER,
	deadline INTEGER,
	waits    INTEGER NOT NULL,
	repeats  INTEGER NOT NULL,
	dialogue TEXT NOT NULL,
	sender   TEXT,
	target   TEXT NOT NULL,
	session  TEXT NOT NULL,
	schema   TEXT NOT NULL,
	protocol TEXT NOT NULL,
	payload  BLOB,
	proof    TEXT NOT NULL,
	expires  INTEGER,
	sync     INTEGER NOT NULL,
	sealed   BLOB,
	UNIQUE (agent, id)
) STRICT;
CREATE INDEX outbox_pending ON outbox (target) WHERE state = 0;
CREATE INDEX outbox_reply ON outbox (agent, in_reply) WHERE in_reply IS NOT NULL;
CREATE INDEX outbox_finished ON outbox (finished) WHERE finished IS NOT NULL;

CREATE TABLE dialogue (
	agent   INTEGER NOT NULL,
	id      TEXT NOT NULL,
	version INTEGER NOT NULL,
	state   BLOB,
	UNIQUE (agent, id)
) STRICT;

CREATE TABLE value (
	agent INTEGER NOT NULL,
	key   TEXT NOT NULL,
	value BLOB,
	PRIMARY KEY (agent, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE dead (
	seq      INTEGER PRIMARY KEY,
	agent    INTEGER NOT NULL,
	time     INTEGER NOT NULL,
	inbound  INTEGER NOT NULL,
	id       TEXT NOT NULL,
	code     TEXT NOT NULL,
	reason   TEXT NOT NULL,
	sender   TEXT,
	target   TEXT,
	session  TEXT NOT NULL,
	schema   TEXT NOT NULL,
	protocol TEXT NOT NULL,
	payload  BLOB,
	proof    TEXT NOT NULL,
	expires  INTEGER,
	sync     INTEGER NOT NULL
) STRICT;
CREATE INDEX dead_time ON dead (time);

CREATE TABLE log (
	seq      INTEGER PRIMARY KEY,
	agent    INTEGER NOT NULL,
	time     INTEGER NOT NULL,
	event    TEXT NOT NULL,
	id       TEXT NOT NULL,
	detail   TEXT NOT NULL,
	sender   TEXT,
	target   TEXT,
	session  TEXT NOT NULL,
	schema   TEXT NOT NULL,
	protocol TEXT NOT NULL,
	payload  BLOB,
	proof    TEXT NOT NULL,
	expires  INTEGER,
	sync     INTEGER NOT NULL
) STRICT;
CREATE INDEX log_agent ON log (agent);
CREATE INDEX log_time ON log (time);
-- By blocks of 1024 numbers: sessions are as good as random, and each record
-- would touch another page of the whole index. See [Store.sessionLog].
CREATE INDEX log_session ON log (seq >> 10, session);
`, `
ALTER TABLE dialogue ADD COLUMN next INTEGER;
ALTER TABLE dialogue ADD COLUMN expires INTEGER;
CREATE INDEX dialogue_next ON dialogue (next) WHERE next IS NOT NULL;
CREATE INDEX dialogue_expires ON dialogue (expires) WHERE expires IS NOT NULL;
`}
