-- The master key, encrypted by the key in a key service that `wrapped_by` names; null when the master key is given by settings or files.
ALTER TABLE vault_check ADD COLUMN wrapped_by TEXT;
ALTER TABLE vault_check ADD COLUMN wrapped_key BLOB CHECK ((wrapped_key IS NULL) = (wrapped_by IS NULL));
