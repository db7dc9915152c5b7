-- When the status or the reason to wait last changed; null in rows from before this column until then.
ALTER TABLE transactions ADD COLUMN changed_at TEXT;
