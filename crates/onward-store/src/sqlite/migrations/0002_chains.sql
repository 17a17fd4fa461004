-- A checkpoint becomes the end of a chain: a whole document, and the patches behind it. Contents leave the table of
-- checkpoints, for one that is deleted may be needed by those built on it. The documents of 0001 become keyframes; the
-- program moves them, since it takes hashes to do so, and then drops their column.
--
-- An old program refuses the result by its version. A new one moves what an old one wrote when it opens it for writing,
-- and moves it in a copy when it only looks.

-- Where the content of a checkpoint lies. Places count as those of records do: the number of the run times 2^32, plus
-- how many contents the run had been given by then.
ALTER TABLE checkpoints ADD COLUMN place INTEGER NOT NULL DEFAULT 0;

-- Whole documents: those that came with their checkpoint, and those that were added later (added = 1) beside a patch.
-- The link of the first is the hash of the document, that of the second the link of the patch.
CREATE TABLE keyframes (
    place    INTEGER PRIMARY KEY,
    seq      INTEGER NOT NULL,
    added    INTEGER NOT NULL,
    link     BLOB    NOT NULL,
    seal     BLOB    NOT NULL,
    document BLOB    NOT NULL
) STRICT;

-- Each link is the hash of the link before it and the patch.
CREATE TABLE patches (
    place INTEGER PRIMARY KEY,
    seq   INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    link  BLOB    NOT NULL,
    body  BLOB    NOT NULL
) STRICT;

-- Places whose checkpoint is deleted, and whose content stays because others are built on it.
CREATE TABLE ghosts (
    place INTEGER PRIMARY KEY,
    seal  BLOB    NOT NULL
) STRICT;

-- Where the contents of a run end, and what lies between there and the last keyframe.
ALTER TABLE runs ADD COLUMN contents       INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN link           BLOB    NOT NULL
    DEFAULT x'0000000000000000000000000000000000000000000000000000000000000000';
ALTER TABLE runs ADD COLUMN patches        INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN patch_bytes    INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN keyframe_bytes INTEGER NOT NULL DEFAULT 0;

-- What a caller made of a journal, for itself. It may be deleted at any time.
CREATE TABLE folds (
    run     INTEGER PRIMARY KEY,
    seq     INTEGER NOT NULL,
    version INTEGER NOT NULL,
    hash    BLOB    NOT NULL,
    seal    BLOB    NOT NULL,
    body    BLOB    NOT NULL
) STRICT;
