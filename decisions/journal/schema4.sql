-- Version 4 adds what became of questions. It changes nothing of version 3.

-- When the call of a question was reported to have run; nanoseconds since 1970,
-- UTC. That is no answer of a person.
ALTER TABLE decisions ADD COLUMN ran_at INTEGER;
