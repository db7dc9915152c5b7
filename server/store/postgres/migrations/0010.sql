-- oldest server: 10
-- From which relayer its relayers get funds, and when, as JSON; NULL: from none. The MAC of the row covers it: servers of the release before
-- would find it wrong.
ALTER TABLE pools ADD COLUMN funding TEXT;
