-- What decodes the data of a transaction that was given as a call by name: fragments of human-readable ABI, as JSON.
ALTER TABLE transactions ADD COLUMN fragments TEXT;
