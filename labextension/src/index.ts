export { default } from './plugins/index.js';
