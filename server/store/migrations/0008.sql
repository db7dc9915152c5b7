-- `transactions.reserved`: the most wei that the transaction can still cost (its value, and its gas at its highest price) while it
-- is unfinished and in no block; null otherwise, and in rows from before this column until they change. `accounts.reserved`: the sum
-- of these for the account, which a query could not build, because amounts exceed 64 bits.
ALTER TABLE transactions ADD COLUMN reserved TEXT;
ALTER TABLE accounts ADD COLUMN reserved TEXT NOT NULL DEFAULT '0';
-- All that was ever taken out of `reserved`: a balance that was read before may be smaller by the difference since.
ALTER TABLE accounts ADD COLUMN released TEXT NOT NULL DEFAULT '0';

-- The wall clock when it was last believed, in milliseconds of the epoch. A clock that is far ahead of it deletes nothing.
CREATE TABLE believed_time (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  ms INTEGER NOT NULL
) STRICT;
