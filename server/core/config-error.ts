/** Settings, files or a database that the service cannot start with. The message has one line for each fault, and no secret. */
export class ConfigError extends Error {}
