-- Version 7 adds which questions were answered, or reported to have run, so that counting them
-- reads no records. It changes no row of version 6.
CREATE INDEX decisions_answered ON decisions (seq, time, answered_at, answer)
  WHERE verdict = 'ask' AND (answered_at IS NOT NULL OR ran_at IS NOT NULL);
