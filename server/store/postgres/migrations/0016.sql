-- Who asked for a transaction, and fees per caller, relayer and day: see 0033.sql of the SQLite schema. Servers of the release before leave
-- the caller out, and what they accept is not counted by caller.
ALTER TABLE transactions ADD COLUMN caller TEXT;
CREATE TABLE caller_days (
  at             BIGINT NOT NULL,
  relayer_row_id BIGINT NOT NULL,
  caller         TEXT NOT NULL,
  mined          BIGINT NOT NULL,
  fee_gwei       BIGINT NOT NULL,
  fee_wei        BIGINT NOT NULL,
  repriced       BIGINT NOT NULL,
  repricing_gwei DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (at, relayer_row_id, caller)
);

CREATE FUNCTION count_caller() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
  fee NUMERIC := coalesce((new.receipt::json ->> 'fee')::numeric, 0);
  price NUMERIC := (new.receipt::json ->> 'effective_gas_price')::numeric;
  gas_used NUMERIC := (new.receipt::json ->> 'gas_used')::numeric;
  first_price NUMERIC;
BEGIN
  IF new.intent = 'send' THEN
    SELECT coalesce(first.gas_price::numeric, least(first.max_fee_per_gas::numeric,
      price - mined.max_priority_fee_per_gas::numeric + first.max_priority_fee_per_gas::numeric)) INTO first_price
    FROM attempts AS first JOIN attempts AS mined USING (transaction_row_id)
    WHERE transaction_row_id = new.row_id AND first.number = 1 AND mined.hash = new.hash AND mined.number > 1 LIMIT 1;
  END IF;
  INSERT INTO caller_days AS known (at, relayer_row_id, caller, mined, fee_gwei, fee_wei, repriced, repricing_gwei)
  SELECT floor(extract(epoch FROM new.changed_at::timestamptz))::bigint / 86400 * 86400, new.relayer_row_id, new.caller,
    (new.intent = 'send')::int, least(div(fee, 1000000000), 9000000000000000), mod(fee, 1000000000),
    (first_price IS NOT NULL)::int, coalesce(least(greatest(price - first_price, 0) * gas_used / 1000000000, 9000000000000000), 0)
  ON CONFLICT (at, relayer_row_id, caller) DO UPDATE SET mined = known.mined + excluded.mined,
    fee_gwei = least(known.fee_gwei + excluded.fee_gwei, 9000000000000000), fee_wei = known.fee_wei + excluded.fee_wei,
    repriced = known.repriced + excluded.repriced, repricing_gwei = known.repricing_gwei + excluded.repricing_gwei;
  RETURN NULL;
END $$;
CREATE TRIGGER caller_of_block AFTER UPDATE OF status ON transactions FOR EACH ROW
WHEN (old.status IN ('pending', 'sent', 'submitted') AND new.status NOT IN ('pending', 'sent', 'submitted')
  AND new.receipt IS NOT NULL AND new.changed_at IS NOT NULL AND new.caller IS NOT NULL) EXECUTE FUNCTION count_caller();
