-- Rejects have parts, one for each effect that was asked about; those of version 1
-- have none and are carried over (migrate.go). A facts of -1 stands for them.
ALTER TABLE choices ADD COLUMN parts BLOB;     -- JSON: lines, or keyed digests where no line can say it
ALTER TABLE choices ADD COLUMN looked INTEGER; -- when a person accepted what became of a choice of an earlier permd
