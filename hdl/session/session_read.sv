// One byte of an HTTP response. What is kept between two bytes of a response fits a few words, and a response may be cut
// anywhere: status line, headers, chunks. Of the headers, Content-Length, Transfer-Encoding and Connection are read.
module session_read
  import session_read_pkg::*;
(
    input  reading_t   reading_i,
    input  byte_t      byte_i,
    output reading_t   reading_o
);
  localparam logic [27:0] Largest = 28'd20_000_000;  // another digit still fits

  wire [7:0] lower = byte_i.lower;
  wire decimal = byte_i.decimal;
  wire hexadecimal = byte_i.hexadecimal;
  wire [3:0] digit = byte_i.digit;
  wire bodiless = reading_i.status == 10'd204 || reading_i.status == 10'd304;
  // The characters that a name, or the start of the status line, has here.
  logic [2:0] alike;
  logic [6:0][7:0] protocol;
  assign protocol = "HTTP/1.";

  always_comb begin
    reading_o = reading_i;
    for (int unsigned name = 0; name < 3; name++) alike[name] = reading_i.alike[name] && lower == name_at(2'(name), reading_i.at);

    unique case (reading_i.state)
      Protocol: begin
        reading_o.at = reading_i.at + 5'd1;
        if (reading_i.at < 5'd7) begin
          if (byte_i.value != protocol[3'd6 - reading_i.at[2:0]]) reading_o.state = Malformed;
        end else if (reading_i.at == 5'd7) begin
          if (!decimal) reading_o.state = Malformed;
        end else if (reading_i.at == 5'd8) begin
          if (!byte_i.space) reading_o.state = Malformed;
        end else begin
          reading_o.status = 10'(reading_i.status << 3) + 10'(reading_i.status << 1) + 10'(digit);
          if (!decimal) reading_o.state = Malformed;
          else if (reading_i.at == 5'd11) reading_o.state = StatusRest;
        end
      end

      StatusRest:
      if (byte_i.lf) begin
        reading_o.state = Name;
        reading_o.at    = '0;
        reading_o.alike = '1;
      end

      Name: begin
        reading_o.at    = &reading_i.at ? reading_i.at : reading_i.at + 5'd1;
        reading_o.alike = alike;
        if (byte_i.cr && reading_i.at == '0) reading_o.state = HeadersEnd;
        else if (byte_i.lf) reading_o.state = Malformed;
        else if (byte_i.colon) begin
          reading_o.at     = '0;
          reading_o.digits = 1'b0;
          reading_o.state  = Skip;
          // In the trailer nothing is looked for.
          for (int unsigned name = 0; name < 3; name++) begin
            if (reading_i.alike[name] && name_at(2'(name), reading_i.at) == 8'd0 && !reading_i.trailer) begin
              reading_o.state  = name == 0 ? Number : Word;
              reading_o.coding = name == 1;
              if (name == 0) reading_o.left = '0;
              if (name == 0 && reading_i.sized) reading_o.state = Malformed;
            end
          end
        end
      end

      Skip, WordRest:
      if (byte_i.lf) begin
        reading_o.state = Name;
        reading_o.at    = '0;
        reading_o.alike = '1;
      end

      Number:
      if (decimal) begin
        reading_o.digits = 1'b1;
        reading_o.left   = 28'(reading_i.left << 3) + 28'(reading_i.left << 1) + 28'(digit);
        if (reading_i.left > Largest) reading_o.state = Malformed;
      end else if (byte_i.cr && reading_i.digits) begin
        reading_o.sized = 1'b1;
        reading_o.state = Skip;
      end else if (!byte_i.space || reading_i.digits) reading_o.state = Malformed;

      Word:
      if (byte_i.cr || byte_i.comma) begin
        if (word_at(reading_i.coding, reading_i.at) == 8'd0) begin
          if (reading_i.coding) reading_o.chunked = 1'b1;
          else reading_o.close = 1'b1;
        end else if (reading_i.coding) reading_o.state = Malformed;
        if (byte_i.cr && reading_o.state == Word) reading_o.state = WordRest;
        // No coding follows chunked.
        if (byte_i.comma && reading_i.coding) reading_o.state = Malformed;
        if (byte_i.comma) reading_o.at = '0;
      end else if (!byte_i.space) begin
        // 31: this word is another.
        reading_o.at = lower == word_at(reading_i.coding, reading_i.at) && !(&reading_i.at) ? reading_i.at + 5'd1 : 5'd31;
        if (byte_i.lf) reading_o.state = Malformed;
      end

      HeadersEnd:
      if (!byte_i.lf) reading_o.state = Malformed;
      else if (reading_i.trailer) reading_o.state = Complete;
      else if (reading_i.status < 10'd200) begin
        // Another response follows (RFC 9110 section 15.2).
        reading_o       = '0;
        reading_o.state = Protocol;
      end else if (bodiless) reading_o.state = Complete;
      else if (reading_i.chunked) begin
        reading_o.state  = ChunkSize;
        reading_o.left   = '0;
        reading_o.digits = 1'b0;
      end else if (!reading_i.sized) reading_o.state = UntilClose;
      else reading_o.state = reading_i.left == '0 ? Complete : Body;

      Body: begin
        reading_o.left = reading_i.left - 28'd1;
        reading_o.size = reading_i.size + 28'd1;
        if (reading_i.left == 28'd1) reading_o.state = reading_i.chunked ? ChunkEnd : Complete;
      end

      UntilClose: reading_o.size = &reading_i.size ? reading_i.size : reading_i.size + 28'd1;

      ChunkSize, ChunkSkip: begin
        if (byte_i.lf) begin
          reading_o.digits = 1'b0;
          reading_o.state  = Body;
          if (!reading_i.digits) reading_o.state = Malformed;
          else if (reading_i.left == '0) begin
            reading_o.state   = Name;
            reading_o.at      = '0;
            reading_o.trailer = 1'b1;
          end
        end else if (reading_i.state == ChunkSize) begin
          if (hexadecimal) begin
            reading_o.digits = 1'b1;
            reading_o.left   = {reading_i.left[23:0], digit};
            if (reading_i.left[27:24] != '0) reading_o.state = Malformed;
          end else if (byte_i.semicolon) reading_o.state = ChunkSkip;
          else if (!byte_i.cr) reading_o.state = Malformed;
        end
      end

      ChunkEnd:
      if (byte_i.lf) begin
        reading_o.state = ChunkSize;
        reading_o.left  = '0;
      end else if (!byte_i.cr) reading_o.state = Malformed;

      default: ;
    endcase
  end
endmodule
