// Makes the servers of a program listen on the loopback alone, and prints their addresses.
const net = require('node:net');

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  this.once('listening', () => console.error(`listening on ${this.address().port}`));
  return listen.call(this, { port: Number(port), host: '127.0.0.1' }, ...rest.filter((a) => typeof a === 'function'));
};
