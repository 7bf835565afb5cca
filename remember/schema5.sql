-- A checksum of each row, so that one that is damaged is noticed (remember/seals). It is
-- filled in at the first start after the migration; meta then has a row named sealed.
ALTER TABLE choices ADD COLUMN seal BLOB;
