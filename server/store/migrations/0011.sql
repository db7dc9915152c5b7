-- `receipt`: the receipt of the block in `block_hash`, as the contract shows it (JSON); a receipt of another block is out of date.
-- `error`: why it reverted or failed (JSON). Both are null in rows from before these columns. Without checks, which would read every
-- row there is.
ALTER TABLE transactions ADD COLUMN receipt TEXT;
ALTER TABLE transactions ADD COLUMN error TEXT;
