-- The search finds references by their beginning. In the order of a language, such references are no range; by their bytes they are. The
-- index serves equality as before.
DROP INDEX transactions_by_reference;
CREATE INDEX transactions_by_reference ON transactions (relayer_row_id, reference text_pattern_ops, sequence) WHERE reference IS NOT NULL;
