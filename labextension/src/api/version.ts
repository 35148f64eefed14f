/**
 * The version of this page; the verb `about` returns that of the server.
 */

export const VERSION = '0.1.0';
