-- What an allow is bound to, in words, with the text of a short part of a file, and a
-- digest of its facts without that content. It goes when the choice does.
ALTER TABLE choices ADD COLUMN bound BLOB; -- JSON, NULL for choices that are bound to no content, or were made before

CREATE TRIGGER forget_bound AFTER UPDATE OF revoked ON choices WHEN NEW.revoked IS NOT NULL AND NEW.bound IS NOT NULL BEGIN
  UPDATE choices SET bound = NULL WHERE n = NEW.n;
END;
