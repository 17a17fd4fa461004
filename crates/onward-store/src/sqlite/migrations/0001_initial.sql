-- The first format. Columns named seal hold a checksum over the narrow columns of their row; columns that hold values
-- of callers (body, meta, document, summary, reply) hold envelopes with a checksum of their own.

PRAGMA application_id = 1869506404;

-- One row: the store about itself.
CREATE TABLE meta (
    one       INTEGER PRIMARY KEY CHECK (one = 1),
    format    TEXT    NOT NULL,
    store_id  BLOB    NOT NULL,
    commits   INTEGER NOT NULL,
    last_hash BLOB    NOT NULL,
    seal      BLOB    NOT NULL
) STRICT;

-- The list of runs. It can be rebuilt from the journal, except for the order and the key of the work.
CREATE TABLE runs (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    run     TEXT    NOT NULL UNIQUE,
    work    TEXT    NOT NULL,
    status  TEXT    NOT NULL,
    head    INTEGER NOT NULL,
    hash    BLOB    NOT NULL,
    seal    BLOB    NOT NULL,
    summary BLOB    NOT NULL
) STRICT;
CREATE INDEX runs_by_work ON runs (work, number);
CREATE INDEX runs_by_status ON runs (status, number);

-- The journals. The key is the number of the run times 2^32 plus the position: one narrow key keeps a journal together
-- and makes a second record at the same position impossible.
CREATE TABLE records (
    place INTEGER PRIMARY KEY,
    at    INTEGER NOT NULL,
    actor TEXT    NOT NULL,
    hash  BLOB    NOT NULL,
    body  BLOB    NOT NULL
) STRICT;

CREATE TABLE checkpoints (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT    NOT NULL UNIQUE,
    run      INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    bytes    INTEGER NOT NULL,
    seal     BLOB    NOT NULL,
    meta     BLOB    NOT NULL,
    document BLOB    NOT NULL
) STRICT;
CREATE INDEX checkpoints_by_run ON checkpoints (run, number);

-- Who was last given a run. Whether they still have it only the lock knows.
CREATE TABLE leases (
    run   INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    kind  TEXT    NOT NULL,
    host  TEXT    NOT NULL,
    pid   INTEGER NOT NULL,
    since INTEGER NOT NULL
) STRICT;

CREATE TABLE inbox (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    run    INTEGER NOT NULL,
    id     TEXT    NOT NULL,
    at     INTEGER NOT NULL,
    seal   BLOB    NOT NULL,
    body   BLOB    NOT NULL,
    reply  BLOB,
    UNIQUE (run, id)
) STRICT;
CREATE INDEX inbox_waiting ON inbox (run, number) WHERE reply IS NULL;

-- Large values, once each. Where body is NULL the value lies in a file.
CREATE TABLE blobs (
    id    BLOB    PRIMARY KEY,
    bytes INTEGER NOT NULL,
    body  BLOB
) STRICT;

-- What names a blob. One that nothing names is deleted.
CREATE TABLE blob_uses (
    run   INTEGER NOT NULL,
    kind  INTEGER NOT NULL,
    place INTEGER NOT NULL,
    blob  BLOB    NOT NULL,
    PRIMARY KEY (run, kind, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_uses_by_blob ON blob_uses (blob);

-- Ids that were deleted, so that they are never given again.
CREATE TABLE tombstones (
    kind TEXT NOT NULL,
    id   TEXT NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
