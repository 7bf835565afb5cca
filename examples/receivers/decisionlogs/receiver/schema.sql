-- One row for each event, as it came. One that comes again changes nothing; one about a
-- decision that was answered since then takes the place of the earlier one.
CREATE TABLE IF NOT EXISTS events (
  decision_id TEXT PRIMARY KEY,
  path        TEXT NOT NULL,
  log         TEXT NOT NULL,             -- labels.id: which journal it is of
  seq         INTEGER,                   -- the number of the decision in its journal
  entry       INTEGER NOT NULL,          -- what was added to it, 0 for the decision itself
  follows     INTEGER,                   -- the decision that was sent before
  time        TEXT NOT NULL,             -- of the decision, UTC
  received    TEXT NOT NULL,             -- when it was received first
  event       TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS events_seq ON events (log, seq);
CREATE INDEX IF NOT EXISTS events_time ON events (time);

CREATE VIEW IF NOT EXISTS decisions AS SELECT
  decision_id, log, seq, follows, time, received,
  event ->> '$.labels.host' AS host,
  event ->> '$.requested_by' AS requested_by,
  event ->> '$.input.agent.name' AS agent,
  event ->> '$.input.session.id' AS session,
  event ->> '$.input.project' AS project,
  event ->> '$.input.tool' AS tool,
  event ->> '$.result.verdict' AS verdict,
  event ->> '$.result.decidedBy' AS decided_by,
  event ->> '$.result.reason' AS reason,
  event ->> '$.result.outcome' AS outcome,
  event ->> '$.result.policy.digest' AS policy,
  event ->> '$.result.answer.verdict' AS answer,
  event ->> '$.result.answer.time' AS answered,
  event ->> '$.result.answer.author.uid' AS answered_uid,
  event ->> '$.result.answer.author.via' AS answered_via,
  event ->> '$.result.ran' AS ran,
  event ->> '$.result.ended.as' AS ended,
  event -> '$.erased' AS erased,
  event ->> '$.custom.permd.maskingFailed' AS masking_failed
FROM events WHERE path = 'permd/decide';

CREATE VIEW IF NOT EXISTS effects AS SELECT
  d.decision_id, d.log, d.seq, d.time, d.event ->> '$.labels.host' AS host,
  e.value ->> '$.kind' AS kind, e.value ->> '$.text' AS text,
  e.value ->> '$.verdict' AS verdict, e.value ->> '$.reason' AS reason,
  e.value ->> '$.choiceId' AS choice, e.value -> '$.rules' AS rules
FROM events d, json_each(d.event, '$.result.effects') e WHERE d.path = 'permd/decide';

CREATE VIEW IF NOT EXISTS rules AS SELECT
  e.decision_id, e.log, e.seq, e.time, e.host, e.verdict, e.text,
  r.value ->> '$.layer' AS layer, r.value ->> '$.id' AS rule, r.value ->> '$.at' AS at
FROM effects e, json_each(e.rules) r;

CREATE VIEW IF NOT EXISTS gaps AS SELECT
  log, event ->> '$.labels.host' AS host, received,
  event ->> '$.custom.permd.gap.reason' AS reason,
  event ->> '$.custom.permd.gap.from' AS first,
  event ->> '$.custom.permd.gap.to' AS last,
  event ->> '$.custom.permd.gap.removed' AS removed
FROM events WHERE path = 'permd/gap';
