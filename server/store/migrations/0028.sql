-- From which relayer its relayers get funds, and when, as JSON; NULL: from none. The MAC of the row covers it.
ALTER TABLE pools ADD COLUMN funding TEXT;
