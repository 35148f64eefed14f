/**
 * The version of this part; the server's says its own in `about`.
 */

export const VERSION = '0.1.0';
