/** What a check needs cannot be read or used, such as a file or a port: the message is for people. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
}
