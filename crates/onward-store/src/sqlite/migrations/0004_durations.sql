-- How long attempts took: what can be read from the journals of all runs, kept so that none has to be read for it. One row for each
-- attempt that came to its own end, in the order in which it is asked for: the newest of a phase with the same end.
--
-- A database that an older program wrote has none of its runs; they come with the next repair. An old program refuses the result by
-- its version.
CREATE TABLE durations (
    plan  TEXT    NOT NULL,
    phase TEXT    NOT NULL,
    ended TEXT    NOT NULL,
    run   INTEGER NOT NULL,
    seq   INTEGER NOT NULL,
    ms    INTEGER NOT NULL,
    PRIMARY KEY (plan, phase, ended, run, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX durations_by_run ON durations (run);
