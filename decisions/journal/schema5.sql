-- Version 5 adds how calls ended. It changes nothing of version 4.

-- When it was reported how the call ended, nanoseconds since 1970, UTC, and how:
-- ran, failed or cancelled.
ALTER TABLE decisions ADD COLUMN ended_at INTEGER;
ALTER TABLE decisions ADD COLUMN ended_as TEXT;
