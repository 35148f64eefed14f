export { default } from './plugins.js';
