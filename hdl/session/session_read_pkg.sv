// What is kept of an HTTP response between two of its bytes.
package session_read_pkg;
  typedef enum logic [3:0] {
    Protocol,     // HTTP/1.x, space, three digits
    StatusRest,
    Name,
    Skip,         // the rest of a line that does not matter
    Number,       // of Content-Length
    Word,         // chunked, or close
    WordRest,
    HeadersEnd,   // after the CR of the empty line
    Body,         // `left` bytes
    UntilClose,
    ChunkSize,
    ChunkSkip,    // an extension, up to the end of the line
    ChunkEnd,     // the line's end behind a chunk
    Complete,
    Malformed
  } read_e;

  typedef struct packed {
    read_e       state;
    logic [4:0]  at;        // in the status line, name or word
    logic [2:0]  alike;     // the names that it can still be
    logic        coding;    // the word is that of Transfer-Encoding
    logic        trailer;   // the lines are behind the last chunk
    logic        chunked;
    logic        close;
    logic        sized;     // there was a Content-Length
    logic        digits;    // a number has one
    logic [9:0]  status;
    logic [27:0] left;
    logic [27:0] size;      // bytes of the body so far
  } reading_t;

  // A byte of the response, and what it is.
  typedef struct packed {
    logic [7:0] value;
    logic [7:0] lower;
    logic       decimal;
    logic       hexadecimal;
    logic [3:0] digit;
    logic       cr;
    logic       lf;
    logic       colon;
    logic       comma;
    logic       semicolon;
    logic       space;
  } byte_t;

  function automatic byte_t known(input logic [7:0] value);
    byte_t known_;
    known_.value       = value;
    known_.lower       = value >= "A" && value <= "Z" ? value | 8'h20 : value;
    known_.decimal     = value >= "0" && value <= "9";
    known_.hexadecimal = known_.decimal || known_.lower >= "a" && known_.lower <= "f";
    known_.digit       = known_.decimal ? value[3:0] : value[3:0] + 4'd9;
    known_.cr          = value == 8'h0d;
    known_.lf          = value == 8'h0a;
    known_.colon       = value == ":";
    known_.comma       = value == ",";
    known_.semicolon   = value == ";";
    known_.space       = value == " ";
    return known_;
  endfunction

  // The characters at a place of what is looked for, in lower case; 0 behind the end.
  function automatic logic [7:0] name_at(input logic [1:0] name, input logic [4:0] at);
    logic [18:0][7:0] text;
    unique case (name)
      2'd0:    text = {"content-length", 40'd0};
      2'd1:    text = {"transfer-encoding", 16'd0};
      default: text = {"connection", 72'd0};
    endcase
    return at < 5'd19 ? text[5'd18 - at] : 8'd0;
  endfunction

  function automatic logic [7:0] word_at(input logic coding, input logic [4:0] at);
    logic [7:0][7:0] text;
    text = coding ? {"chunked", 8'd0} : {"close", 24'd0};
    return at < 5'd8 ? text[3'd7 - at[2:0]] : 8'hff;
  endfunction
endpackage
