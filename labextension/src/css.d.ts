/** Style sheets imported by lazily loaded modules. */
declare module '*.css';
