/** Style sheets that come with a part that is loaded late. */
declare module '*.css';
