-- What a rollup charges for the data of a transaction besides its gas, in wei, by the estimate at its acceptance; NULL: nothing.
ALTER TABLE transactions ADD COLUMN data_fee TEXT;
