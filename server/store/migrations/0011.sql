-- The API key that made it, or `environment`: an API key that is limited to relayers sees and uses only its own notifications.
ALTER TABLE notifications ADD COLUMN created_by TEXT NOT NULL DEFAULT 'environment';
CREATE INDEX notifications_by_creator ON notifications (created_by, key);

-- The policies on messages and typed data of all relayers on an address hold for each of them.
CREATE INDEX relayers_by_address ON relayers (address);
